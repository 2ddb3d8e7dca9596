/* SPDX-License-Identifier: MIT */
/* Process.begin, process.thread.end ...: told to the runners that want to know. */
#ifndef TRAPLESS_RUNNER_GUARDIAN_SESSION_EVENTS_H
#define TRAPLESS_RUNNER_GUARDIAN_SESSION_EVENTS_H

#include "../guardian.h"

/* It is told of what is there, and from now on of what comes */
int events_begin(struct guardian *g, struct client *c);
void thread_began(struct guardian *g, struct thread *t); /* before it goes on */
void thread_exits(struct guardian *g, struct thread *t); /* it is still there */
void thread_over(struct guardian *g, struct thread *t);
void process_over(struct guardian *g); /* and all threads that it still had */
void event_answered(struct guardian *g, struct client *c, pid_t tid);
void events_go_on(struct guardian *g); /* who waits for nobody any more */
void events_forget(struct guardian *g, struct thread *t);
bool client_listens(const struct client *c);
struct message event_of(struct guardian *g, struct thread *t); /* without probe and registers */
bool event_waits(const struct client *c); /* for its handlers threads stand still */
void event_wait(struct guardian *g, struct client *c, struct thread *t);
void call_goes_on(struct guardian *g, struct thread *t);

bool event_keeps(const struct guardian *g, const struct thread *t);
enum verdict event_at_stop(struct guardian *g, struct thread *t);

#endif
