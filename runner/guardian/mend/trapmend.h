/* SPDX-License-Identifier: MIT */
/*
 * A signal that the processor forces on a thread leaves traces in the kernel's own books: where it was blocked or
 * ignored, the kernel unblocks it and resets the program's disposition to the default.
 */
#ifndef TRAPLESS_RUNNER_GUARDIAN_MEND_TRAPMEND_H
#define TRAPLESS_RUNNER_GUARDIAN_MEND_TRAPMEND_H

#include "../guardian.h"

void signal_mend(struct guardian *g, struct thread *t, enum forced f);
bool action_known(const struct guardian *g, enum forced f);
bool call_coming(struct guardian *g, struct thread *t);
void action_learn(struct guardian *g);
bool action_wanted(const struct guardian *g); /* what is to be watched is not mapped yet */
int action_watch(struct guardian *g);
bool watch_can_wait(const struct guardian *g); /* for session_watch() */
bool handlers_may_fault(const struct module *m);
void session_watch(struct guardian *g);
void action_at_delivery(struct guardian *g, struct thread *t, int *sig);

#endif
