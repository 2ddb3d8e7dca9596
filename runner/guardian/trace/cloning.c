/* SPDX-License-Identifier: MIT */
/*
 * Threads that are inside clone() as we come. What such a call makes nobody
 * traces, thread or child, and it would die at the first breakpoint. So before
 * anything is written each thread is seen outside of it once: asleep in
 * another call, or stopped. What has come up by then is taken too.
 */
#include "../../base/proc.h"
#include "../../machine/calls.h"
#include "../guardian.h"
#include "cloning.h"
#include "loop.h"
#include "say.h"
#include "seize.h"
#include "stop.h"
#include "threads.h"

enum { PATIENCE_MS = 10000 };

static bool makes_child(long call)
{
	return call == SYS_clone || call == SYS_clone3 || call == SYS_fork || call == SYS_vfork;
}

/* Where it waits for a child that we trace, it had not begun to make that one before. */
static bool is_outside(struct guardian *g, struct thread *t)
{
	struct proc_sleep where;

	if (t->dead || proc_ended(t->tid))
		return true;
	if (t->asked || !proc_sleeps(t->tid, &where))
		return stop_thread(g, t);
	return !makes_child(where.call) || waits_for_child(g, t);
}

static struct thread *next_unseen(const struct guardian *g)
{
	struct thread *t;

	for (t = g->threads; t && !t->cloning; t = t->next)
		;
	return t;
}

static int await_one(struct guardian *g, pid_t tid)
{
	double end = now_ms() + PATIENCE_MS;
	struct thread *t;

	while ((t = thread_find(g, tid)) && !is_outside(g, t)) {
		if (now_ms() > end)
			return guardian_fail(g,
				"thread %d of process %d has been starting a child for %d s "
				"(vfork: it "
				"waits until that one has become another program), and nobody "
				"could trace "
				"that one: try again when it has",
				tid, g->pid, PATIENCE_MS / 1000);
		loop_for(g, 1);
	}
	t = thread_find(g, tid); /* it may have ended in its stop */
	if (t)
		t->cloning = false;
	return 0;
}

/* Before the first one is waited for: they come to rest side by side. */
static void ask_running(struct guardian *g)
{
	struct proc_sleep where;
	struct thread *t;

	for (t = g->threads; t; t = t->next) {
		if (t->cloning && !t->dead && !t->stopped && !proc_sleeps(t->tid, &where))
			stop_ask(g, t);
	}
}

int cloning_await(struct guardian *g)
{
	struct thread *t;
	int ret;

	do {
		ask_running(g);
		while ((t = next_unseen(g)))
			if (await_one(g, t->tid))
				return -1;
	} while ((ret = target_seize_new(g)) > 0);
	return ret;
}
