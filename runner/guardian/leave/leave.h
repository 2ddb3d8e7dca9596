/* SPDX-License-Identifier: MIT */
/* The end of a session: probes out, memory back, the closing figures. */
#ifndef TRAPLESS_RUNNER_GUARDIAN_LEAVE_LEAVE_H
#define TRAPLESS_RUNNER_GUARDIAN_LEAVE_LEAVE_H

#include "../guardian.h"

void client_counts(const struct guardian *g, const struct client *c);
void client_silence(struct client *c); /* its runner cannot do that any more */
void client_disarm(struct guardian *g, struct client *c); /* with the helper held */
/* True: another session has come meanwhile, to be watched */
bool session_leave(struct guardian *g);
void leave_at_exit(struct guardian *g, struct thread *t);

#endif
