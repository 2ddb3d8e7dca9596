/* SPDX-License-Identifier: MIT */
/*
 * A session leaves while others stay: its probes, then its memory in the target, once nobody stands there. Those
 * that leave while others stay. -1: nobody can stay.
 */
#ifndef TRAPLESS_RUNNER_GUARDIAN_LEAVE_PART_H
#define TRAPLESS_RUNNER_GUARDIAN_LEAVE_PART_H

#include "../guardian.h"

enum { PART_MS = 20, PARTED_MS = 200 };
int clients_part(struct guardian *g);
int clients_part_ms(const struct guardian *g); /* when to try again; -1: nobody is on the way */

#endif
