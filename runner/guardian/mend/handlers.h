/* SPDX-License-Identifier: MIT */
/*
 * What handlers in the target need of us, since they make no system calls of their own: who they run in, and to be
 * led on where they read what is not there.
 */
#ifndef TRAPLESS_RUNNER_GUARDIAN_MEND_HANDLERS_H
#define TRAPLESS_RUNNER_GUARDIAN_MEND_HANDLERS_H

#include "../guardian.h"

void threads_publish(struct guardian *g);
uint32_t own_number(const struct guardian *g, pid_t pid); /* as the target sees it */
void thread_publish(struct guardian *g, struct thread *t);
void thread_unpublish(struct guardian *g, struct thread *t);
void be_watched(struct guardian *g);
bool handler_asks(struct guardian *g, struct thread *t, uint64_t pc);
bool handler_faults(struct guardian *g, struct thread *t, int sig);
bool helper_faults(struct guardian *g, struct thread *t, int sig);
bool in_handler(const struct guardian *g, uint64_t pc); /* or the agent, not in a detour */

#endif
