/* SPDX-License-Identifier: MIT */
/*
 * What handlers in the target need of us, since they make no system calls of their own: who they run in, and to be
 * led on where they read what is not there.
 */
#ifndef TRAPLESS_RUNNER_GUARDIAN_MEND_HANDLERS_H
#define TRAPLESS_RUNNER_GUARDIAN_MEND_HANDLERS_H

#include "../guardian.h"

void be_watched(struct guardian *g);
bool handler_asks(struct guardian *g, struct thread *t, uint64_t pc);
enum verdict handler_at_signal(struct guardian *g, struct thread *t, int sig);
enum verdict helper_at_signal(struct guardian *g, struct thread *t, int sig);

#endif
