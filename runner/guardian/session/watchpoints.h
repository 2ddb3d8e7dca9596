/* SPDX-License-Identifier: MIT */
/* Process.data: watchpoints in the processor's debug registers, of which each thread has its own values. */
#ifndef TRAPLESS_RUNNER_GUARDIAN_SESSION_WATCHPOINTS_H
#define TRAPLESS_RUNNER_GUARDIAN_SESSION_WATCHPOINTS_H

#include "../guardian.h"

void watchpoints_look(struct guardian *g); /* where the variables are by now */
void watchpoints_inherit(struct guardian *g, struct thread *t); /* newborn, stopped */
/* G->entry has changed; 0, or -errno */
int entry_set(const struct guardian *g, const struct thread *t);
/* A session leaves: in how many threads its own still stand */
int watchpoints_part(struct guardian *g);
int watchpoints_leave(struct guardian *g); /* all do */
void watchpoints_recover(struct guardian *g);

enum verdict watchpoints_at_stop(struct guardian *g, struct thread *t);
enum claim watchpoint_at_trap(struct guardian *g, struct thread *t);

#endif
