/* SPDX-License-Identifier: MIT */
/* A process has become another program. */
#ifndef TRAPLESS_RUNNER_GUARDIAN_FAMILY_PROGRAMS_H
#define TRAPLESS_RUNNER_GUARDIAN_FAMILY_PROGRAMS_H

#include "../guardian.h"

void program_at_exec(struct guardian *g, struct thread *t);

#endif
