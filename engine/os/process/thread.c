/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/*
 * Where a thread's id lies behind its thread pointer: found out, since every
 * libc differs. Who is running, and by what it is known again, own_thread.c and
 * agent/threads.c tell by it.
 */
#include "process.h"

enum { SS_ONSTACK = 1, SIG_NONE = 0 };

int32_t tl_tid_offset;

/*
 * Looks through the calling thread's block for its own id. A wrong find (a
 * number that happens to be equal) shows when the next thread asks for its id.
 */
void tl_tcb_init(void)
{
	uint32_t tid = tl_home_tid();
	uintptr_t base = tl_machine_thread_early();

	tl_tid_offset = 0;
	if (!tl_machine_is_thread(base))
		return;
	for (int32_t off = TL_TCB_FROM; off < TL_TCB_TO; off += 4) {
		uintptr_t at = base + (intptr_t)off;

		if (!(at & 7) && !tl_word_readable(at))
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

struct tl_thread *tl_os_contexts(
	unsigned *n, int (**hit)(struct tl_site *site, struct tl_regs *regs, uint32_t gives))
{
	*n = 0;
	*hit = NULL;
	return NULL;
}

struct tl_thread *tl_os_context(void)
{
	return NULL;
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
