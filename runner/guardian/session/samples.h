/* SPDX-License-Identifier: MIT */
/* Timer.profile: a runner asks where its target is. */
#ifndef TRAPLESS_RUNNER_GUARDIAN_SESSION_SAMPLES_H
#define TRAPLESS_RUNNER_GUARDIAN_SESSION_SAMPLES_H

#include "../guardian.h"

/* Of each thread that runs */
void sample_ask(struct guardian *g, struct client *c, uint32_t probe);
void sample_at_interrupt(struct guardian *g, struct thread *t);

#endif
