/* SPDX-License-Identifier: MIT */
/*
 * A SIGTRAP of the program's own. A breakpoint of ours in another thread, which blocks SIGTRAP as C libraries do while
 * they start a thread, takes the program's handler away until that is mended (trapmend.c): a signal that is delivered
 * in that moment ends the program. So it waits for the main loop, which stops everybody else, and delivers it then;
 * the thread is stepped into the handler, and all go on.
 */
#define _GNU_SOURCE
#include <signal.h>

#include "guardian.h"

enum { PATIENCE_MS = 1000, TRIES = 10 };

static bool is_alone(const struct guardian *g, const struct thread *t)
{
	const struct thread *o;

	for (o = g->threads; o && (o == t || o->tgid != g->pid || !thread_is_theirs(o));
		o = o->next)
		;
	return !o;
}

bool own_trap_waits(struct guardian *g, struct thread *t)
{
	bool by_main = g->watching || g->delivering;

	if (!by_main || !(g->ctl && g->ctl->ntraps) || t->tgid != g->pid || t->held ||
		t->kept.sig || !action_known(g, FORCED_TRAP) || is_alone(g, t))
		return false;
	t->own_trap = g->own_traps = true;
	return true;
}

/* Its next stop is in the handler, where the kernel has looked at what that is. */
static void await_handler(struct guardian *g, pid_t tid)
{
	double end = now_ms() + PATIENCE_MS;
	const struct thread *t;

	while ((t = thread_find(g, tid)) && t->steps && !target_ended(g) && now_ms() < end)
		pump_for(g, 1);
}

/* Who is being born would begin to run. */
static bool all_stand(struct guardian *g)
{
	int i;

	for (i = 0; i < TRIES && !maps_read(g) && !stop_all(g); i++) {
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

	t->held = true; /* by us, not with the others */
	still = all_stand(g);
	t = thread_find(g, tid);
	if (t && t->dead) {
		thread_drop(g, t);
	} else if (t) {
		t->held = t->own_trap = false;
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

void own_traps_deliver(struct guardian *g)
{
	struct thread *t;

	g->own_traps = false;
	g->delivering = true;
	while (!target_ended(g) && (t = next_waiting(g)))
		deliver(g, t);
	g->delivering = false;
}
