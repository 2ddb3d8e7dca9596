/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/*
 * Threads, as the engine asks for them in a foreign process. The helper has no
 * thread block of its own, it shares a borrowed one's. Handlers find their
 * thread's id in its block; where there is none, the guardian knows.
 */
#include "handler.h"
#include "../engine/os/process/process.h"

/* The record of a thread without a thread pointer, as at the first instructions of a program; there is one such thread. */
static uintptr_t no_block_yet;
static bool blocks_seen; /* from then on there may be more of them */

/* By the pointer: is it more than one thread? */
static bool is_shared(uintptr_t pointer)
{
	for (unsigned i = 0; tl_ctl && i < TL_CTL_SHARED; i++)
		if (TL_LOAD(&tl_ctl->shared[i]) == pointer + 1)
			return true;
	return false;
}

/* Only the helper asks the other way (handlers come by the early one): no record is its own. */
uintptr_t tl_os_thread_key(bool early)
{
	uintptr_t key = early ? tl_machine_thread_early() : 0;

	if (early && is_shared(key))
		return TL_THREAD_NO_KEY;
	if (key)
		TL_STORE(&blocks_seen, true);
	if (key || !early)
		return key;
	return TL_LOAD(&blocks_seen) ? TL_THREAD_NO_KEY : (uintptr_t)&no_block_yet;
}

/* While the place of the thread id is looked for, the helper passes for the thread whose block it shares. */
uint32_t tl_home_tid(void)
{
	return tl_ctl && tl_ctl->lender ? tl_ctl->lender : tl_gettid();
}

/* A program that has just been started has no thread block yet: its loader tells which libc it will have. */
void tl_os_thread_layout(int32_t *tid_offset, bool *fast_key)
{
	int32_t found = TL_RELAXED(&tl_tid_offset);

	*tid_offset = found ? found : (int32_t)tl_ctl->tid_offset;
	*fast_key = tl_machine_fast_key();
}

/* --- from handlers ------------------------------------------------------------ */

/* The id that stands in the thread's block; 0: none, or nobody knows where. */
static uint32_t id_in_block(uintptr_t key)
{
	int32_t offset;
	uintptr_t self;
	uint32_t tid;
	bool fast;

	tl_os_thread_layout(&offset, &fast);
	if (!offset || tl_home_read(&self, key, sizeof(self)) || self != key ||
		tl_home_read(&tid, key + (uint32_t)offset, sizeof(tid)))
		return 0;
	return tid;
}

/* A wrong place (a number that happened to be equal) shows by what lies there in another thread's block. */
uint32_t tl_os_thread_id(uintptr_t key)
{
	bool none = key == (uintptr_t)&no_block_yet;
	uint32_t tid = none ? tl_ctl->own_number : id_in_block(key);
	struct tl_answer a;

	if (tl_agent_pid_known(tid) || !tl_agent_asks(&a, TL_ASK_WHO))
		return tid;
	if (tid && !none && a.tid != tid) {
		tl_tcb_forget();
		tl_ctl->tid_offset = 0;
	}
	return a.tid;
}

/* Where the id is not known, the thread pointer alone decides, as in the detour. */
bool tl_os_thread_same(uintptr_t key, uint32_t tid)
{
	uint32_t now = key == (uintptr_t)&no_block_yet ? 0 : id_in_block(key);

	return !now || now == tid;
}

/*
 * A handler that was left by siglongjmp, or one that a signal interrupted whose
 * own handler is on the alternate stack? Where nobody answers, the latter is
 * assumed: the thread's probes stay silent until it is over.
 */
bool tl_os_on_signal_stack(void)
{
	struct tl_answer a;

	if (!tl_agent_asks(&a, TL_ASK_STACK))
		return true;
	if (a.answered & TL_ANSWER_ASK_KERNEL)
		return tl_on_signal_stack();
	return !(a.answered & TL_ANSWER_PLAIN_STACK);
}
