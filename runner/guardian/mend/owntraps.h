/* SPDX-License-Identifier: MIT */
/* A SIGTRAP of the program's own. */
#ifndef TRAPLESS_RUNNER_GUARDIAN_MEND_OWNTRAPS_H
#define TRAPLESS_RUNNER_GUARDIAN_MEND_OWNTRAPS_H

#include "../guardian.h"

bool own_trap_waits(struct guardian *g, struct thread *t); /* true: it is delivered later */
void own_traps_arrive(struct guardian *g); /* before the first breakpoint of ours stands */
void own_traps_deliver(struct guardian *g);

#endif
