/* SPDX-License-Identifier: MIT */
/* The control block, and probes in by way of the agent. */
#ifndef TRAPLESS_RUNNER_GUARDIAN_SESSION_ARM_H
#define TRAPLESS_RUNNER_GUARDIAN_SESSION_ARM_H

#include "../guardian.h"

int control_create(struct guardian *g);
int session_arm(struct guardian *g, struct client *c, struct thread *from, bool final);
void progress_tell(struct guardian *g); /* while g->arming */
/* Return probes whose calls left to where nobody watched: looked at again, some times a second at most. */
enum { FOLLOW_MS = 200 };
bool follow_may_be_due(const struct guardian *g);
void session_follow(struct guardian *g);
void session_tune(struct guardian *g); /* where anybody wants it */
/* Breakpoints for our own sake, with the helper held. c: any */
int session_more(struct guardian *g, struct thread *from, bool final);

#endif
