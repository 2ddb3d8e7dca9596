/* SPDX-License-Identifier: MIT */
/* Who is born, and whose first stop is still to come. */
#include "../guardian.h"
#include "births.h"
#include "loop.h"

void child_settled(struct guardian *g, pid_t tid)
{
	struct thread *t;

	for (t = g->threads; t; t = t->next) {
		if (t->awaited == tid && t->stopped && !t->held)
			thread_resume(g, t, 0);
	}
}

bool any_newborn(const struct guardian *g)
{
	const struct thread *t;

	for (t = g->threads; t && !(t->newborn && !t->dead); t = t->next)
		;
	return t;
}

/* A copy that was made while our text and memory were there is cleaned at its first stop, not later. */
void births_settle(struct guardian *g)
{
	loop_while(g, any_newborn, 2000);
}
