/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/*
 * Who is running? The thread pointer says it fast, but the C library gives a
 * dead thread's block to the next one: so the thread id inside that block is
 * compared too. Where it lies there is found out, since every libc differs.
 */
#include "process.h"

enum { SS_ONSTACK = 1, SIG_NONE = 0 };

static int32_t tid_offset; /* 0: not known, ask the kernel */

static uint32_t tcb_tid(uintptr_t key, int32_t offset)
{
	return __atomic_load_n((uint32_t *)(key + (intptr_t)offset), __ATOMIC_RELAXED);
}

/*
 * Looks through the calling thread's block for its own id. A wrong find (a
 * number that happens to be equal) shows when the next thread asks for its id.
 */
void tl_tcb_init(void)
{
	uint32_t tid = tl_gettid();
	uintptr_t base = tl_machine_thread_early();

	tid_offset = 0;
	if (!tl_machine_is_thread(base))
		return;
	for (int32_t off = TL_TCB_FROM; off < TL_TCB_TO; off += 4) {
		uintptr_t at = base + (intptr_t)off;

		if (!(at & 7) && !tl_word_readable(at))
			return;
		if (tcb_tid(base, off) == tid) {
			tid_offset = off;
			return;
		}
	}
}

uintptr_t tl_os_thread_key(bool early)
{
	return early ? tl_machine_thread_early() : tl_machine_thread();
}

void tl_tcb_forget(void)
{
	__atomic_store_n(&tid_offset, 0, __ATOMIC_RELAXED);
}

uint32_t tl_os_thread_id(uintptr_t key)
{
	uint32_t tid = tl_gettid();
	int32_t off = __atomic_load_n(&tid_offset, __ATOMIC_RELAXED);

	if (off && key && (!tl_machine_is_thread(key) || tcb_tid(key, off) != tid))
		tl_tcb_forget();
	return tid;
}

bool tl_os_thread_same(uintptr_t key, uint32_t tid)
{
	int32_t off = __atomic_load_n(&tid_offset, __ATOMIC_RELAXED);

	return (off && key ? tcb_tid(key, off) : tl_gettid()) == tid;
}

void tl_os_thread_layout(int32_t *offset, bool *fast_key)
{
	*offset = __atomic_load_n(&tid_offset, __ATOMIC_RELAXED);
	*fast_key = tl_machine_fast_key();
}

bool tl_os_thread_key_percpu(int32_t *at)
{
	(void)at;
	return false;
}

bool tl_os_vectors(void)
{
	return true;
}

bool tl_os_thread_alive(uint32_t tid)
{
	long pid = tl_syscall3(TL_NR_getpid, 0, 0, 0);

	return tl_syscall3(TL_NR_tgkill, pid, (long)tid, SIG_NONE) != -TL_ESRCH;
}

bool tl_os_on_signal_stack(void)
{
	struct {
		void *sp;
		int flags;
		size_t size;
	} ss = {0, 0, 0};

	return !tl_syscall3(TL_NR_sigaltstack, 0, (long)&ss, 0) && (ss.flags & SS_ONSTACK);
}
