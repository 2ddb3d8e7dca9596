/* SPDX-License-Identifier: MIT */
/* May this process be traced? */
#ifndef TRAPLESS_RUNNER_GUARDIAN_TRACE_SEIZE_H
#define TRAPLESS_RUNNER_GUARDIAN_TRACE_SEIZE_H

#include "../guardian.h"

int target_check(struct guardian *g); /* refusals, nothing changed */
int target_check_machine(struct guardian *g); /* once it runs its program */
int target_seize(struct guardian *g);
int target_seize_new(struct guardian *g); /* who has come up since; how many, or -1 */

#endif
