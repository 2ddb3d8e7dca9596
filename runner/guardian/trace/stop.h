/* SPDX-License-Identifier: MIT */
/* Stopping everyone, and letting them go on, elsewhere where that is wanted. */
#ifndef TRAPLESS_RUNNER_GUARDIAN_TRACE_STOP_H
#define TRAPLESS_RUNNER_GUARDIAN_TRACE_STOP_H

#include "../guardian.h"

int stop_all(struct guardian *g);
int stop_unseen(struct guardian *g); /* without a look at where they stand: pcs[] stays as it is */
/* To stop: somebody waits for it, in a moment */
bool stop_ask(struct guardian *g, struct thread *t);
/* Once, and lets it go on; false: it could not be stopped */
bool stop_thread(struct guardian *g, struct thread *t);
void stop_inside(struct guardian *g);
void resume_all(struct guardian *g, bool apply);
uint64_t times_asleep(pid_t tid); /* how often it has gone to sleep, 0: unknown */
bool sleeps_on(pid_t tid, uint64_t times); /* asleep, and not once more since then */
/* Where threads' stacks end, in stacks[]: sleepers keep sleeping, others are stopped until it is checked who has woken. */
void stacks_tell(struct guardian *g);
void stacks_check(struct guardian *g);
void pcs_add(struct guardian *g, pid_t tid, uint64_t pc, uint64_t where);

#endif
