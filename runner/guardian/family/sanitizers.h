/* SPDX-License-Identifier: MIT */
/* Where a sanitizer of the program's makes the process that will trace it: see selftrace.c. */
#ifndef TRAPLESS_RUNNER_GUARDIAN_FAMILY_SANITIZERS_H
#define TRAPLESS_RUNNER_GUARDIAN_FAMILY_SANITIZERS_H

#include "../guardian.h"

enum { WATCHED_CLONE = TL_CTL_WATCHED - 1 }; /* of watched_at: its place */
void sanitizers_watch(struct guardian *g); /* with the helper held */
bool sanitizers_wanted(const struct guardian *g); /* what is to be watched is not mapped yet */

#endif
