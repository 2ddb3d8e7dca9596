/* SPDX-License-Identifier: MIT */
/* A program started by us. */
#ifndef TRAPLESS_RUNNER_GUARDIAN_FAMILY_LAUNCH_H
#define TRAPLESS_RUNNER_GUARDIAN_FAMILY_LAUNCH_H

#include "../guardian.h"
#include "../session/clients.h"

/* CMD has been started, and the wanted program has not shown up yet. */
static inline bool launch_searches(const struct guardian *g)
{
	return g->launched && !g->armed && !g->injected && !clients_leave(g);
}

void launch_exec(struct guardian *g, struct thread *t);
bool program_over(struct guardian *g, bool follow);
bool launch_adopt(struct guardian *g, struct thread *t);
bool launch_entry(struct guardian *g, struct thread *t);
void launch_leave(struct guardian *g);
bool launch_under_way(const struct guardian *g);
bool launch_step_due(const struct guardian *g);
int launch_step(struct guardian *g);
enum verdict launch_at_call(struct guardian *g, struct thread *t);

#endif
