/* SPDX-License-Identifier: MIT */
/*
 * A fault of the program in the copy of an instruction, which runs in a detour instead of the instruction itself:
 * its handler is to find the thread at the instruction.
 */
#ifndef TRAPLESS_RUNNER_GUARDIAN_MEND_FAULTS_H
#define TRAPLESS_RUNNER_GUARDIAN_MEND_FAULTS_H

#include "../guardian.h"

bool fault_is_followed(const struct guardian *g, const struct thread *t);
void fault_at_handler(struct guardian *g, struct thread *t);
bool fault_wants_step(struct guardian *g, struct thread *t, int sig);
void fault_at_delivery(struct guardian *g, struct thread *t, int *sig);
enum verdict fault_at_call(struct guardian *g, struct thread *t);

#endif
