/* SPDX-License-Identifier: MIT */
/* Putting the agent into the target and taking it out again. With the helper held. */
#ifndef TRAPLESS_RUNNER_GUARDIAN_INJECT_INJECT_H
#define TRAPLESS_RUNNER_GUARDIAN_INJECT_INJECT_H

#include "../guardian.h"

/* The agent, the control block, and c's memory */
int agent_inject(struct guardian *g, struct client *c);
uint64_t agent_export(void *unused, const char *name); /* where it is in the target; 0: nowhere */
uint64_t agent_region(struct guardian *g, uint64_t code, uint64_t *size);
void agent_calls(struct guardian *g, uint64_t code); /* by one that another guardian left */
int agent_eject(struct guardian *g); /* memory back; 0, or how many pieces had to stay */

#endif
