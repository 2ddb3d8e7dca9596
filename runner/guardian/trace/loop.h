/* SPDX-License-Identifier: MIT */
/* The guardian's event loop: every stop of every traced thread comes through here. Events. */
#ifndef TRAPLESS_RUNNER_GUARDIAN_TRACE_LOOP_H
#define TRAPLESS_RUNNER_GUARDIAN_TRACE_LOOP_H

#include "../guardian.h"

bool loop_event(struct guardian *g, bool block); /* one event; false: there was none */
bool loop_event_briefly(struct guardian *g); /* wait for one, or a signal */
void loop_for(struct guardian *g, int ms); /* all that come in that time */
/* ... until what comes is through, ms at most */
void loop_while(struct guardian *g, bool (*comes)(const struct guardian *), int ms);
void thread_resume(struct guardian *g, struct thread *t, int sig);
bool thread_ask(struct thread *t);
bool thread_await(struct guardian *g, struct thread *t, int timeout_ms);
/* True: stopped and held */
bool thread_interrupt(struct guardian *g, struct thread *t, int timeout_ms);
void thread_release(struct guardian *g, struct thread *t);
/* Loop.c: to t, which has stopped for it */
void signal_deliver(struct guardian *g, struct thread *t, int sig);
/* To t, which has stopped for it */
void signal_deliver(struct guardian *g, struct thread *t, int sig);

#endif
