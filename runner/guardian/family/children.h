/* SPDX-License-Identifier: MIT */
/* What the target gives birth to. */
#ifndef TRAPLESS_RUNNER_GUARDIAN_FAMILY_CHILDREN_H
#define TRAPLESS_RUNNER_GUARDIAN_FAMILY_CHILDREN_H

#include "../guardian.h"

void child_at_first_stop(struct guardian *g, struct thread *t);
enum verdict child_at_birth(struct guardian *g, struct thread *parent, int event);
void child_dead(struct guardian *g, struct thread *t);

#endif
