/* SPDX-License-Identifier: MIT */
/* The threads that are known, of the target and of what shares its memory. */
#ifndef TRAPLESS_RUNNER_GUARDIAN_TRACE_THREADS_H
#define TRAPLESS_RUNNER_GUARDIAN_TRACE_THREADS_H

#include "../guardian.h"

struct thread *thread_find(const struct guardian *g, pid_t tid);
struct thread *thread_add(struct guardian *g, pid_t tid, pid_t tgid);
void thread_drop(struct guardian *g, struct thread *t);
struct thread *thread_newborn(struct guardian *g, pid_t tid); /* NULL: no memory */
/* In the stop that tells of it; 0: not known */
pid_t thread_event_child(const struct thread *parent);
/* For a child that we know: before that one has become another program, or ended, nobody can stop it. */
bool waits_for_child(const struct guardian *g, const struct thread *t);
bool stop_held_up(const struct guardian *g, const struct thread *t); /* so, while others stop */
bool stop_lasts(const struct guardian *g); /* some stand still, or all, until resume_all() */
pid_t eye_of(struct guardian *g); /* g->eye, chosen anew where that thread has ended */

#endif
