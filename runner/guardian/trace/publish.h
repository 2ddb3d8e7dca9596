/* SPDX-License-Identifier: MIT */
/* Threads that the agent is told of before their handlers ask. */
#ifndef TRAPLESS_RUNNER_GUARDIAN_TRACE_PUBLISH_H
#define TRAPLESS_RUNNER_GUARDIAN_TRACE_PUBLISH_H

#include "../guardian.h"

void threads_publish(struct guardian *g);
uint32_t own_number(const struct guardian *g, pid_t pid); /* as the target sees it */
void thread_publish(struct guardian *g, struct thread *t);
void thread_unpublish(struct guardian *g, struct thread *t);
/* Its number, and above bit 32 its process's, as they are there */
uint64_t thread_ids(const struct guardian *g, const struct thread *t);

#endif
