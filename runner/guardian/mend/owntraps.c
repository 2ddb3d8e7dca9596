/* SPDX-License-Identifier: MIT */
/*
 * A SIGTRAP of the program's own. A breakpoint of ours in another thread, which blocks SIGTRAP as C libraries do while
 * they start a thread, takes the program's handler away until that is mended (trapmend.c): a signal that is delivered
 * in that moment ends the program. So it waits until nobody is at work who has stopped threads; then everybody else is
 * stopped, the thread is stepped into the handler, and all go on. The helper may work on: it never causes a SIGTRAP.
 */
#define _GNU_SOURCE
#include <signal.h>

#include "../guardian.h"
#include "../trace/births.h"
#include "../trace/concern.h"
#include "../trace/loop.h"
#include "../trace/stop.h"
#include "../trace/threads.h"
#include "../trace/traps.h"
#include "masks.h"
#include "owntraps.h"

enum { PATIENCE_MS = 1000, TRIES = 10 };

static bool is_alone(const struct guardian *g, const struct thread *t)
{
	const struct thread *o;

	for (o = g->threads; o && (o == t || o->tgid != g->pid || !thread_is_theirs(o));
		o = o->next)
		;
	return !o;
}

/* Now, or in a moment: the helper may be about to put one there. */
static bool may_trap(const struct guardian *g)
{
	return !g->settled && (g->ctl->ntraps || g->data_watched || g->helper);
}

enum verdict own_trap_at_signal(struct guardian *g, struct thread *t, int sig)
{
	if (sig != SIGTRAP || !g->ctl || !may_trap(g) || t->tgid != g->pid || t->kept.sig ||
		!action_known(g, FORCED_TRAP) || is_alone(g, t))
		return PASS;
	t->own_trap = g->own_traps = true;
	return STAYS;
}

bool own_trap_keeps(const struct guardian *g, const struct thread *t)
{
	(void)g;
	return t->own_trap; /* own_traps_deliver() lets it go */
}

bool own_trap_wants_step(struct guardian *g, struct thread *t, int sig)
{
	(void)g, (void)sig;
	return t->into_handler;
}

/* Its next stop is in the handler, where the kernel has looked at what that is. */
static void await_handler(struct guardian *g, pid_t tid)
{
	double end = now_ms() + PATIENCE_MS;
	const struct thread *t;

	while ((t = thread_find(g, tid)) && t->steps && !target_ended(g) && now_ms() < end)
		loop_for(g, 1);
}

/* Who is being born would begin to run. */
static bool all_stand(struct guardian *g)
{
	int i;

	for (i = 0; i < TRIES && !stop_unseen(g); i++) {
		if (!any_newborn(g))
			return true;
		resume_all(g, false);
		births_settle(g);
	}
	return false;
}

static void deliver(struct guardian *g, struct thread *t)
{
	pid_t tid = t->tid;
	bool still;

	thread_hold(t); /* by us, not with the others */
	still = !g->settled && all_stand(g);
	t = thread_find(g, tid);
	if (t && t->dead) {
		thread_drop(g, t);
	} else if (t) {
		thread_unhold(t, false);
		t->own_trap = false;
		t->into_handler = still;
		signal_deliver(g, t, SIGTRAP);
		if (still)
			await_handler(g, tid);
	}
	if (still)
		resume_all(g, false);
}

static struct thread *next_waiting(const struct guardian *g)
{
	struct thread *t;

	for (t = g->threads; t && !(t->own_trap && !t->dead); t = t->next)
		;
	return t;
}

/* Who stops has begun the handler of what it was given before, and is followed from there. */
void own_traps_arrive(struct guardian *g)
{
	if (!action_known(g, FORCED_TRAP) || g->masks_matter)
		return;
	g->masks_matter = true;
	masks_learn(g);
	if (g->own_trapped && !stop_unseen(g))
		resume_all(g, false);
	masks_learn(g);
}

void own_traps_deliver(struct guardian *g)
{
	struct thread *t;
	unsigned n = 0;

	if (!g->own_traps || stop_lasts(g))
		return;
	g->own_traps = false;
	for (t = g->threads; t; t = t->next)
		n += t->own_trap;
	for (; n && !target_ended(g) && (t = next_waiting(g)); n--)
		deliver(g, t);
}
