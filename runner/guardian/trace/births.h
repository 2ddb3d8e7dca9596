/* SPDX-License-Identifier: MIT */
/* Who is born, and whose first stop is still to come. */
#ifndef TRAPLESS_RUNNER_GUARDIAN_TRACE_BIRTHS_H
#define TRAPLESS_RUNNER_GUARDIAN_TRACE_BIRTHS_H

#include "../guardian.h"

/* Born, or dead: its parent goes on. */
void child_settled(struct guardian *g, pid_t tid);
bool any_newborn(const struct guardian *g); /* whose first stop is still to come */
void births_settle(struct guardian *g);

#endif
