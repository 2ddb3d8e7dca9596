/* SPDX-License-Identifier: MIT */
/*
 * A signal from elsewhere (a profiler's, a timer's, a collector's) may meet a thread in our memory, and its handler
 * may look at what it has interrupted.
 */
#ifndef TRAPLESS_RUNNER_GUARDIAN_MEND_SIGNALS_H
#define TRAPLESS_RUNNER_GUARDIAN_MEND_SIGNALS_H

#include "../guardian.h"

bool signals_kept(const struct guardian *g);

bool signal_at_resume(struct guardian *g, struct thread *t, int *sig);
void signal_before_step(struct guardian *g, struct thread *t, int sig);
enum claim signal_at_trap(struct guardian *g, struct thread *t);
void signal_at_delivery(struct guardian *g, struct thread *t, int *sig);

#endif
