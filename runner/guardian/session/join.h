/* SPDX-License-Identifier: MIT */
/* Other sessions come to the target that we trace. */
#ifndef TRAPLESS_RUNNER_GUARDIAN_SESSION_JOIN_H
#define TRAPLESS_RUNNER_GUARDIAN_SESSION_JOIN_H

#include "../guardian.h"

void door_open(struct guardian *g);
int door_now(const struct guardian *g); /* to be polled; -1: nobody can be let in at the moment */
void door_answer(struct guardian *g);
void door_close(struct guardian *g);

#endif
