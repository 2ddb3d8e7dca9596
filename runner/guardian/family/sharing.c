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
#include <unistd.h>

#include "../../../engine/core/detour/threads.h"
#include "../../machine/calls.h"
#include "../guardian.h"
#include "../trace/remote.h"
#include "../trace/stop.h"
#include "../trace/threads.h"
#include "sharing.h"

enum { BLOCK = 4096 }; /* no thread's block is larger, nor nearer to another's */
enum { ASKED = 1 }; /* in place of a thread's pointer */
enum { MARK = 1 }; /* no thread pointer is odd */

/*
 * Its registers are still those of who made it. The flags of clone3() lie in memory, which that one
 * may have used anew by now: who calls it gives each thread a block.
 */
static bool made_without_block(const struct machine_regs *r)
{
	return regs_call(r) == SYS_clone && regs_call_arg(r, 0) & CLONE_VM &&
	       !(regs_call_arg(r, 0) & (CLONE_SETTLS | CLONE_VFORK));
}

static bool is_block(struct guardian *g, struct thread *t, uint64_t at)
{
	uint64_t self;

	return !at ||
	       (target_read(g, t->tgid, at, &self, sizeof(self)) == sizeof(self) && self == at);
}

uint64_t record_of(struct guardian *g, uint64_t at, uint64_t key)
{
	uint64_t i, entry, found;

	for (i = 0; g->ctl->records && i < TL_THREAD_WINDOW; i++) {
		entry = g->ctl->records +
			((tl_thread_hash(at) + i) & (TL_THREADS - 1)) * sizeof(struct tl_thread);
		if (target_read(g, g->pid, entry + offsetof(struct tl_thread, key), &found,
			    sizeof(found)) == sizeof(found) &&
			found == key)
			return entry;
	}
	return 0;
}

/* The record of one pointer becomes that of another, in its place; there may be none. */
static void rename_record(struct guardian *g, uint64_t at, uint64_t from, uint64_t to)
{
	uint64_t entry = record_of(g, at, from);

	if (entry)
		target_write(g, g->pid, entry + offsetof(struct tl_thread, key), &to, sizeof(to));
}

/* Where it stands on the list, or a free place (0); TL_CTL_SHARED: neither. */
static unsigned place_of(const struct guardian *g, uint64_t value)
{
	unsigned i;

	for (i = 0; i < TL_CTL_SHARED && g->ctl->shared[i] != value; i++)
		;
	return i;
}

static void share(struct guardian *g, struct thread *t, uint64_t at)
{
	unsigned i;

	t->shares = at | MARK;
	i = place_of(g, t->shares);
	if (i == TL_CTL_SHARED)
		i = place_of(g, 0);
	if (i == TL_CTL_SHARED) {
		t->shares = 0;
		return;
	}
	__atomic_store_n(&g->ctl->shared[i], t->shares, __ATOMIC_SEQ_CST);
	rename_record(g, at, at, t->shares);
}

/* A thread is born, and has not run yet. */
void sharing_begins(struct guardian *g, struct thread *t)
{
	struct machine_regs regs;

	if (g->ctl && !regs_get(t->tid, &regs) && made_without_block(&regs) &&
		is_block(g, t, regs_thread(&regs)))
		share(g, t, regs_thread(&regs));
}

/* --- those that are there as we come --------------------------------------------------- */

/* The GNU C library puts the head of a thread's robust list into its block, and tells the kernel. 0: none, or ended. */
static uint64_t robust_list(const struct thread *t)
{
	uint64_t head = 0;
	size_t size;

	return syscall(SYS_get_robust_list, t->tid, &head, &size) ? 0 : head;
}

bool may_share(const struct guardian *g, const struct thread *t)
{
	const struct thread *first = t->tid != g->pid ? thread_find(g, g->pid) : NULL;

	return first && robust_list(first) && !robust_list(t);
}

static struct thread *next_unknown(const struct guardian *g)
{
	struct thread *t;

	for (t = g->threads; t; t = t->next)
		if (!t->pointer && t->tgid == g->pid && thread_is_theirs(t) && may_share(g, t))
			return t;
	return NULL;
}

/* Who has just been started may only not have told the kernel yet: then nobody else has its pointer. */
static bool is_anothers(const struct guardian *g, const struct thread *t)
{
	const struct thread *o;

	for (o = g->threads; o; o = o->next)
		if (o != t && o->tgid == g->pid &&
			(robust_list(o) - t->pointer < BLOCK || o->pointer == t->pointer))
			return true;
	return false;
}

/* Programs of other C libraries are not looked through: each of their threads would have to be stopped. */
void sharing_arrive(struct guardian *g)
{
	struct thread *t;

	while ((t = next_unknown(g))) {
		t->pointer = ASKED;
		stop_thread(g, t);
	}
	for (t = g->threads; t; t = t->next)
		if (t->pointer > ASKED && !t->shares && may_share(g, t) &&
			is_block(g, t, t->pointer) && is_anothers(g, t))
			share(g, t, t->pointer);
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
