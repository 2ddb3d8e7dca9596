/* SPDX-License-Identifier: MIT */
/*
 * The trap rung in a foreign process: a thread that runs into one of our breakpoints stops here, is led to the
 * site's detour, and goes on.
 */
#ifndef TRAPLESS_RUNNER_GUARDIAN_MEND_TRAPSVC_H
#define TRAPLESS_RUNNER_GUARDIAN_MEND_TRAPSVC_H

#include "../guardian.h"

bool trap_is_due(struct guardian *g,
	struct thread *t); /* the next that a stopped one does is to come to that */
void traps_first(struct guardian *g, struct thread *t); /* serve all others while t waits */
void traps_settle(
	struct guardian *g); /* before leaving: no breakpoint of ours is still on its way */
int signal_code(struct thread *t); /* si_code; 0 or less: sent by somebody */
bool by_breakpoint(struct thread *t);
bool pc_get(struct thread *t, uint64_t *pc);
void pc_set(struct thread *t, uint64_t pc);
enum claim trap_at_trap(struct guardian *g, struct thread *t);

#endif
