/* SPDX-License-Identifier: MIT */
/*
 * Which signals each thread blocks, as far as a forced signal would lose it
 * (trapmend.c): the kernel tells it of a stopped thread, but behind a
 * breakpoint without the signal that the breakpoint has forced.
 *
 * So it is known before. It changes by rt_sigprocmask(2), where the C library's
 * calls are watched; when a handler begins, to which we step; when a handler
 * ends, and by whatever a program does by itself. A thread that blocks
 * SIGTRAP and not its neighbours, in a handler or not, therefore stops at its
 * system calls. What is left is guessed by the neighbours: programs that make
 * the calls by themselves block all such signals or none.
 */
#define _GNU_SOURCE
#include <signal.h>

#include "../../base/proc.h"
#include "../guardian.h"
#include "../trace/concern.h"
#include "../trace/remote.h"
#include "masks.h"

uint64_t signals_of_insns(void)
{
	return signal_bit(SIGTRAP) | signal_bit(SIGSEGV) | signal_bit(SIGBUS) | signal_bit(SIGILL) |
	       signal_bit(SIGFPE) | signal_bit(SIGSYS);
}

/* They are blocked together, by who blocks everything. */
static bool neighbours_blocked(uint64_t mask)
{
	const uint64_t all = signals_of_insns();

	return (mask & all) == all;
}

/* Those that we force. */
static const uint64_t forced = 1ull << (SIGTRAP - 1) | 1ull << (SIGSEGV - 1) | 1ull << (SIGBUS - 1);

/* Is `now` what the kernel says of `mask` after signals have been forced? */
static bool may_be(uint64_t mask, uint64_t now)
{
	return !(now & ~mask) && !(mask & ~now & ~forced);
}

/* Does it look as if a forced signal, not mended yet, were missing? */
static bool is_cut(uint64_t now)
{
	return !neighbours_blocked(now) && neighbours_blocked(now | forced);
}

bool mask_has_trap(uint64_t mask)
{
	return mask & signal_bit(SIGTRAP);
}

static bool blocks_trap_alone(uint64_t mask)
{
	return mask_has_trap(mask) && !neighbours_blocked(mask);
}

void mask_learn(struct thread *t, uint64_t mask)
{
	if (mask == t->mask_below)
		t->mask_below = 0;
	t->mask = mask;
	t->mask_known = true;
}

/* As it is now, which is all of it where nothing was forced. */
void mask_look(struct thread *t)
{
	uint64_t mask;

	if (!mask_get(t->tid, &mask))
		mask_learn(t, mask);
}

bool mask_is_followed(const struct guardian *g, const struct thread *t)
{
	return g->masks_matter && (t->mask_below || (t->mask_known && blocks_trap_alone(t->mask)));
}

/* `mask` is without sig, which was forced a moment ago. Was it in there? */
bool mask_had(struct thread *t, uint64_t mask, int sig)
{
	if (mask & signal_bit(sig)) /* it cannot have been forced */
		return false;
	if (!t->mask_known || mask != (t->mask & ~signal_bit(sig)))
		mask_learn(t,
			neighbours_blocked(mask | signal_bit(sig)) ? mask | signal_bit(sig) : mask);
	return t->mask & signal_bit(sig);
}

/* At attach, and once more when changes are watched: ours may have been forced in between, or be about to be mended. */
void masks_learn(struct guardian *g)
{
	bool ours = g->faulted || g->ctl->ntraps || g->data_watched;
	struct thread *t;
	uint64_t mask;

	for (t = g->threads; t; t = t->next) {
		if (thread_is_theirs(t) && !proc_status(t->tid, "SigBlk", 16, &mask) &&
			!(t->mask_known && may_be(t->mask, mask)) && !(ours && is_cut(mask)))
			mask_learn(t, mask);
	}
}

/* The thread stands before rt_sigprocmask(2). */
void mask_coming(struct guardian *g, struct thread *t, const struct machine_regs *regs)
{
	uint64_t set, mask = t->mask, how = regs_call_arg(regs, 0), at = regs_call_arg(regs, 1);

	if (!t->mask_known || !at || target_read(g, t->tgid, at, &set, sizeof(set)) != sizeof(set))
		return;
	if (how == SIG_BLOCK)
		mask |= set;
	else if (how == SIG_UNBLOCK)
		mask &= ~set;
	else if (how == SIG_SETMASK)
		mask = set;
	mask_learn(t, mask & ~(signal_bit(SIGKILL) | signal_bit(SIGSTOP)));
}

/* A signal is about to be delivered. Is its handler to be stepped into? */
bool mask_changes_by(struct guardian *g, struct thread *t, int sig)
{
	uint64_t caught, mask;

	if (!g->masks_matter || proc_status(t->tid, "SigCgt", 16, &caught) ||
		!(caught & signal_bit(sig)))
		return false;
	if (!t->mask_below && !mask_get(t->tid, &mask) && blocks_trap_alone(mask))
		t->mask_below = mask;
	return true;
}

enum verdict mask_at_call(struct guardian *g, struct thread *t)
{
	struct machine_regs regs;

	/* At the entry nothing has changed yet, but what is going to is known already. */
	if (mask_is_followed(g, t) && !regs_get(t->tid, &regs) && !call_begins(t->tid, &regs))
		mask_look(t);
	return PASS;
}
