/* SPDX-License-Identifier: MIT */
/*
 * Semaphores of static marks where the agent did not take its count back: it has failed, its guardian was killed,
 * or a child was born with a copy. While no helper runs in the target.
 */
#ifndef TRAPLESS_RUNNER_GUARDIAN_LEAVE_LISTENERS_H
#define TRAPLESS_RUNNER_GUARDIAN_LEAVE_LISTENERS_H

#include "../guardian.h"

void listeners_leave(struct guardian *g); /* all sessions' */
void listeners_of_child(struct guardian *g, int mem); /* a copy of the target */
/* By a dead guardian's control block, which is g->ctl */
void listeners_recover(struct guardian *g);

#endif
