/* SPDX-License-Identifier: MIT */
/*
 * A signal that the processor forces on a thread leaves traces in the kernel's own books: where it was blocked or
 * ignored, the kernel unblocks it and resets the program's disposition to the default.
 */
#ifndef TRAPLESS_RUNNER_GUARDIAN_MEND_TRAPMEND_H
#define TRAPLESS_RUNNER_GUARDIAN_MEND_TRAPMEND_H

#include "../guardian.h"

void signal_mend(struct guardian *g, struct thread *t, enum forced f);
bool call_coming(struct guardian *g, struct thread *t);
void action_learn(struct guardian *g);
void action_at_delivery(struct guardian *g, struct thread *t, int *sig);

#endif
