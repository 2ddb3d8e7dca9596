/* SPDX-License-Identifier: MIT */
/* What the target gives birth to. */
#ifndef TRAPLESS_RUNNER_GUARDIAN_FAMILY_CHILDREN_H
#define TRAPLESS_RUNNER_GUARDIAN_FAMILY_CHILDREN_H

#include "../guardian.h"

void child_born(struct guardian *g, struct thread *t);
/* A debugger may seize a fork child at once, and it is to be nobody's by then: true, the parent waits for it. */
bool child_awaited(struct guardian *g, struct thread *parent, pid_t tid);
/* Born, or dead: its parent goes on. */
void child_settled(struct guardian *g, pid_t tid);
bool any_newborn(const struct guardian *g); /* whose first stop is still to come */
void births_settle(struct guardian *g);

#endif
