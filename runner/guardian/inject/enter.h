/* SPDX-License-Identifier: MIT */
/*
 * A session's part of the target: its module, made to fit the agent, and its memory. With the helper held, and the
 * engine up.
 */
#ifndef TRAPLESS_RUNNER_GUARDIAN_INJECT_ENTER_H
#define TRAPLESS_RUNNER_GUARDIAN_INJECT_ENTER_H

#include "../guardian.h"

int client_enter(struct guardian *g, struct client *c); /* its module and memory */

#endif
