/* SPDX-License-Identifier: MIT */
/* timer.profile: a runner asks where its target is. */
#ifndef TRAPLESS_RUNNER_GUARDIAN_SESSION_SAMPLES_H
#define TRAPLESS_RUNNER_GUARDIAN_SESSION_SAMPLES_H

#include "../guardian.h"

void sample_ask(
	struct guardian *g, struct client *c, uint32_t probe); /* of each thread that runs */
void sample_at_interrupt(struct guardian *g, struct thread *t);

#endif
