/* SPDX-License-Identifier: MIT */
/* A program may run with alignment checking on, to find its own misaligned accesses. */
#ifndef TRAPLESS_RUNNER_GUARDIAN_MEND_ALIGNMENT_H
#define TRAPLESS_RUNNER_GUARDIAN_MEND_ALIGNMENT_H

#include "../guardian.h"

enum verdict alignment_at_stop(struct guardian *g, struct thread *t);
enum claim alignment_at_trap(struct guardian *g, struct thread *t);
enum verdict alignment_at_signal(struct guardian *g, struct thread *t, int sig);

#endif
