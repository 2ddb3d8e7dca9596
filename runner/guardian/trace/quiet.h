/* SPDX-License-Identifier: MIT */
/*
 * Does a thread of the target stand in our memory, or has it an address of it on its stack? 0, or -TL_E_BUSY: who?
 */
#ifndef TRAPLESS_RUNNER_GUARDIAN_TRACE_QUIET_H
#define TRAPLESS_RUNNER_GUARDIAN_TRACE_QUIET_H

#include "../guardian.h"

int quiet_in(struct guardian *g, uint64_t lo, uint64_t hi, struct thread **who);
int quiet_seen(struct guardian *g, uint64_t lo, uint64_t hi); /* into pcs[], as tl_os_seen() */
void quiet_forget(struct guardian *g); /* the next one looks again */

#endif
