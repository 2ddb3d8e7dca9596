/* SPDX-License-Identifier: MIT */
/*
 * Borrowing a thread of the program for one system call, so that it notices nothing: the helper thread that it
 * clones does everything else.
 */
#ifndef TRAPLESS_RUNNER_GUARDIAN_INJECT_HELPER_H
#define TRAPLESS_RUNNER_GUARDIAN_INJECT_HELPER_H

#include "../guardian.h"

struct thread *helper_start(struct guardian *g, struct thread *from);
/* ... with the agent's room */
struct thread *helper_arrive(struct guardian *g, struct thread *from);
void helper_end(struct guardian *g);
void lender_release(struct guardian *g);
int helper_command(struct guardian *g, int command);

#endif
