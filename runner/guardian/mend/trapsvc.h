/* SPDX-License-Identifier: MIT */
/*
 * The trap rung in a foreign process: a thread that runs into one of our breakpoints stops here, is led to the
 * site's detour, and goes on.
 */
#ifndef TRAPLESS_RUNNER_GUARDIAN_MEND_TRAPSVC_H
#define TRAPLESS_RUNNER_GUARDIAN_MEND_TRAPSVC_H

#include "../guardian.h"

/* Before leaving: no breakpoint of ours is still on its way */
void traps_settle(struct guardian *g);
enum claim trap_at_trap(struct guardian *g, struct thread *t);

#endif
