/* SPDX-License-Identifier: MIT */
/*
 * A signal from elsewhere (a profiler's, a timer's, a collector's) may meet a thread in our memory, and its handler
 * may look at what it has interrupted.
 */
#ifndef TRAPLESS_RUNNER_GUARDIAN_MEND_SIGNALS_H
#define TRAPLESS_RUNNER_GUARDIAN_MEND_SIGNALS_H

#include "../guardian.h"

bool signal_keep(struct guardian *g, struct thread *t, int sig);
bool signal_stepped(struct guardian *g, struct thread *t);
bool signal_steps(struct guardian *g, struct thread *t, int *sig);
bool signals_kept(const struct guardian *g);
void step_spare(struct guardian *g, struct thread *t); /* before a step: perhaps none is needed */
void signal_again(struct thread *t, int sig); /* sent again, it will look as it did */
void signal_pass_on(const struct thread *from, struct thread *to, int sig);
void signal_as_it_was(struct thread *t, int sig);

#endif
