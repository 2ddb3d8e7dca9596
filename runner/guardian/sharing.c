/* SPDX-License-Identifier: MIT */
/*
 * Threads that were made without a thread block of their own (clone(2) without
 * CLONE_SETTLS): by the thread pointer they are the thread that made them. No
 * record may be used by two threads at once, so nobody with that pointer has
 * one until all but one of them have ended: their hits are missed, and counted.
 *
 * A pointer to what is no C library's block is left alone: Go's threads begin
 * with their parent's, and set their own at once.
 */
#define _GNU_SOURCE
#include <linux/sched.h>
#include <sys/syscall.h>

#include "../../engine/core/internal.h"
#include "guardian.h"

enum { MARK = 1 }; /* no thread pointer is odd */

/*
 * Its registers are still those of who made it. The flags of clone3() lie in memory, which that one
 * may have used anew by now: who calls it gives each thread a block.
 */
static bool made_without_block(const struct user_regs_struct *r)
{
	return r->orig_rax == SYS_clone && r->rdi & CLONE_VM &&
	       !(r->rdi & (CLONE_SETTLS | CLONE_VFORK));
}

static bool is_block(struct guardian *g, struct thread *t, uint64_t at)
{
	uint64_t self;

	return !at ||
	       (target_read(g, t->tgid, at, &self, sizeof(self)) == sizeof(self) && self == at);
}

/* The record of one pointer becomes that of another, in its place; there may be none. */
static void rename_record(struct guardian *g, uint64_t at, uint64_t from, uint64_t to)
{
	uint64_t i, entry, key;

	for (i = 0; g->ctl->records && i < TL_THREAD_WINDOW; i++) {
		entry = g->ctl->records +
			((tl_thread_hash(at) + i) & (TL_THREADS - 1)) * sizeof(struct tl_thread) +
			offsetof(struct tl_thread, key);
		if (target_read(g, g->pid, entry, &key, sizeof(key)) != sizeof(key) || key != from)
			continue;
		target_write(g, g->pid, entry, &to, sizeof(to));
		return;
	}
}

/* Where it stands on the list, or a free place (0); TL_CTL_SHARED: neither. */
static unsigned place_of(const struct guardian *g, uint64_t value)
{
	unsigned i;

	for (i = 0; i < TL_CTL_SHARED && g->ctl->shared[i] != value; i++)
		;
	return i;
}

/* A thread is born, and has not run yet. */
void sharing_begins(struct guardian *g, struct thread *t)
{
	struct user_regs_struct regs;
	unsigned i;

	if (!g->ctl || regs_get(t->tid, &regs) || !made_without_block(&regs) ||
		!is_block(g, t, regs.fs_base))
		return;
	t->shares = regs.fs_base | MARK;
	i = place_of(g, t->shares);
	if (i == TL_CTL_SHARED)
		i = place_of(g, 0);
	if (i == TL_CTL_SHARED) {
		t->shares = 0;
		return;
	}
	__atomic_store_n(&g->ctl->shared[i], t->shares, __ATOMIC_SEQ_CST);
	rename_record(g, regs.fs_base, regs.fs_base, t->shares);
}

/* It has ended, or is another program. */
void sharing_ends(struct guardian *g, struct thread *t)
{
	uint64_t mark = t->shares, at = mark & ~(uint64_t)MARK;
	const struct thread *o;

	t->shares = 0;
	for (o = g->threads; o && o->shares != mark; o = o->next)
		;
	if (!mark || o || place_of(g, mark) == TL_CTL_SHARED)
		return;
	rename_record(g, at, mark, at);
	__atomic_store_n(&g->ctl->shared[place_of(g, mark)], 0, __ATOMIC_SEQ_CST);
}
