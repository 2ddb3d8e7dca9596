/* SPDX-License-Identifier: MIT */
/* Threads that are inside clone() as we come. */
#ifndef TRAPLESS_RUNNER_GUARDIAN_TRACE_CLONING_H
#define TRAPLESS_RUNNER_GUARDIAN_TRACE_CLONING_H

#include "../guardian.h"

int cloning_await(struct guardian *g); /* what is made as we come is there, and ours */

#endif
