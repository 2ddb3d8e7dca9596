/* SPDX-License-Identifier: MIT */
/* Waiting for an event of the target, or a word of a runner. */
#ifndef TRAPLESS_RUNNER_GUARDIAN_SESSION_HEAR_H
#define TRAPLESS_RUNNER_GUARDIAN_SESSION_HEAR_H

#include "../guardian.h"

void clients_hear(struct guardian *g);
/* One event, or a rest without any (false). Runners are heard, however many events come. */
bool guardian_event(struct guardian *g);
void guardian_await(struct guardian *g, int ms); /* an event, or a word, no longer than that */
void arming_waits(struct guardian *g);

#endif
