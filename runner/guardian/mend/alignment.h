/* SPDX-License-Identifier: MIT */
/* A program may run with alignment checking on, to find its own misaligned accesses. */
#ifndef TRAPLESS_RUNNER_GUARDIAN_MEND_ALIGNMENT_H
#define TRAPLESS_RUNNER_GUARDIAN_MEND_ALIGNMENT_H

#include "../guardian.h"

bool alignment_faults(struct guardian *g, struct thread *t, int sig);
void alignment_again(struct thread *t);
bool alignment_stepped(struct thread *t);

#endif
