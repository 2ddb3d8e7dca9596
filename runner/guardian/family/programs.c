/* SPDX-License-Identifier: MIT */
/* A process has become another program. */
#define _GNU_SOURCE
#include <sys/ptrace.h>

#include "../guardian.h"
#include "../session/events.h"
#include "../trace/loop.h"
#include "../trace/publish.h"
#include "../trace/threads.h"
#include "launch.h"
#include "parking.h"
#include "programs.h"
#include "sharing.h"
#include "traceme.h"

static void search_on(struct guardian *g, struct thread *t)
{
	traceme_program(t);
	thread_resume(g, t, 0);
}

/* One that shared the memory, as after vfork, is on its own way now. */
static void child_became_other(struct guardian *g, struct thread *t)
{
	pid_t tid = t->tid;

	sharing_ends(g, t);
	thread_unpublish(g, t);
	if (program_hand_over(g, t))
		return;
	thread_drop(g, t);
	g->children++;
	ptrace(PTRACE_DETACH, tid, 0, 0);
}

static void target_became_other(struct guardian *g, struct thread *t)
{
	struct thread *o, *next;

	process_over(g);
	for (o = g->threads; o; o = next) { /* the other threads are gone */
		next = o->next;
		if (o != t && o->tgid == t->tgid && (!o->held || o->asked) && !o->calling)
			thread_drop(g, o);
	}
	g->helper = NULL;
	g->eye = t->tid;
	g->watchpoints_stand = g->watchpoints_known = false; /* nor are they */
	thread_unhold(t, false);
	t->again.on = t->follow = t->asked = t->exits = false;
	t->kept.sig = 0;
	t->frame = t->go_block = t->go_machine = 0;
	launch_exec(g, t);
}

void program_at_exec(struct guardian *g, struct thread *t)
{
	if (t->tgid == g->pid) {
		target_became_other(g, t);
	} else if (!launch_searches(g)) {
		child_became_other(g, t);
	} else if (!launch_adopt(g, t)) {
		search_on(g, t);
	}
}
