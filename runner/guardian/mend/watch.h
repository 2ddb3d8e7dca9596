/* SPDX-License-Identifier: MIT */
/* Where the program's C library changes what we have to keep, a breakpoint tells us. */
#ifndef TRAPLESS_RUNNER_GUARDIAN_MEND_WATCH_H
#define TRAPLESS_RUNNER_GUARDIAN_MEND_WATCH_H

#include "../guardian.h"

bool action_wanted(const struct guardian *g); /* what is to be watched is not mapped yet */
int action_watch(struct guardian *g);
bool watch_can_wait(const struct guardian *g); /* for session_watch() */
void session_watch(struct guardian *g);

#endif
