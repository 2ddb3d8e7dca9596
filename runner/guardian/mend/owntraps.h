/* SPDX-License-Identifier: MIT */
/* A SIGTRAP of the program's own. */
#ifndef TRAPLESS_RUNNER_GUARDIAN_MEND_OWNTRAPS_H
#define TRAPLESS_RUNNER_GUARDIAN_MEND_OWNTRAPS_H

#include "../guardian.h"

void own_traps_arrive(struct guardian *g); /* before the first breakpoint of ours stands */
void own_traps_deliver(struct guardian *g);

bool own_trap_keeps(const struct guardian *g, const struct thread *t);
bool own_trap_wants_step(struct guardian *g, struct thread *t, int sig);
enum verdict own_trap_at_signal(struct guardian *g, struct thread *t, int sig);

#endif
