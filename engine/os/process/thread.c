/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/*
 * Where a thread's id lies behind its thread pointer: found out, since every
 * libc differs. Who is running, and by what it is known again, own_thread.c and
 * agent/threads.c tell by it.
 */
#include "process.h"

enum { TCB_SCAN = 0x600 }; /* glibc has it at 0x2d0, musl at 0x30 */

enum { SS_ONSTACK = 1, SIG_NONE = 0 };

uint32_t tl_tid_offset;
bool tl_fsgsbase, tl_shadow_stack;

bool tl_os_shadow_stack(void)
{
	return tl_shadow_stack;
}

bool tl_shadow_status(void)
{
	const long shstk_status = 0x5005;
	uint64_t on = 0;

	return !tl_syscall3(TL_NR_arch_prctl, shstk_status, (long)&on, 0) && on & 1;
}

bool tl_tcb_self(uintptr_t base)
{
	return base && !(base & 7) && tl_word_readable(base) && *(uintptr_t *)base == base;
}

/*
 * Looks through the calling thread's block for its own id. A wrong find (a
 * number that happens to be equal) shows when the next thread asks for its id.
 */
void tl_tcb_init(void)
{
	uint32_t tid = tl_home_tid(), off;
	uintptr_t base = tl_thread_pointer();

	tl_tid_offset = 0;
	if (!tl_tcb_self(base))
		return;
	for (off = 8; off < TCB_SCAN; off += 4) {
		if (!((base + off) & 7) && !tl_word_readable(base + off))
			return;
		if (tl_tcb_tid(base, off) == tid) {
			tl_tid_offset = off;
			return;
		}
	}
}

void tl_tcb_forget(void)
{
	__atomic_store_n(&tl_tid_offset, 0, __ATOMIC_RELAXED);
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

bool tl_on_signal_stack(void)
{
	struct {
		void *sp;
		int flags;
		size_t size;
	} ss = {0, 0, 0};

	return !tl_syscall3(TL_NR_sigaltstack, 0, (long)&ss, 0) && (ss.flags & SS_ONSTACK);
}
