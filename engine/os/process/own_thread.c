/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/*
 * Own process: who is running? The thread pointer says it fast, but the C library gives a
 * dead thread's block to the next one: so the thread id inside that block is compared too.
 */
#include "process.h"

uintptr_t tl_os_thread_key(bool early)
{
	return early ? tl_machine_thread_early() : tl_machine_thread();
}

uint32_t tl_os_thread_id(uintptr_t key)
{
	uint32_t tid = tl_gettid();
	int32_t off = __atomic_load_n(&tl_tid_offset, __ATOMIC_RELAXED);

	if (off && key && (!tl_machine_is_thread(key) || tl_tcb_tid(key, off) != tid))
		tl_tcb_forget();
	return tid;
}

bool tl_os_thread_same(uintptr_t key, uint32_t tid)
{
	int32_t off = __atomic_load_n(&tl_tid_offset, __ATOMIC_RELAXED);

	return (off && key ? tl_tcb_tid(key, off) : tl_gettid()) == tid;
}

void tl_os_thread_layout(int32_t *offset, bool *fast_key)
{
	*offset = __atomic_load_n(&tl_tid_offset, __ATOMIC_RELAXED);
	*fast_key = tl_machine_fast_key();
}

bool tl_os_on_signal_stack(void)
{
	return tl_on_signal_stack();
}

uint32_t tl_home_tid(void)
{
	return tl_gettid();
}
