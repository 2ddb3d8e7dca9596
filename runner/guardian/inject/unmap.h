/* SPDX-License-Identifier: MIT */
/* Giving back what a session, or all of them, have in the target. */
#ifndef TRAPLESS_RUNNER_GUARDIAN_INJECT_UNMAP_H
#define TRAPLESS_RUNNER_GUARDIAN_INJECT_UNMAP_H

#include "../guardian.h"

/* C's memory, or all (NULL) but the agent's own; with the helper held. 0, -1: it stays. */
int areas_unmap(struct guardian *g, const struct client *c);

#endif
