/* SPDX-License-Identifier: MIT */
/* Why a thread has stopped: its signal, and breakpoints of ours. */
#ifndef TRAPLESS_RUNNER_GUARDIAN_TRACE_TRAPS_H
#define TRAPLESS_RUNNER_GUARDIAN_TRACE_TRAPS_H

#include "../guardian.h"

/* NULL: never one of ours */
const struct tl_ctl_trap *trap_find(struct guardian *g, uint64_t addr);
int signal_code(struct thread *t); /* si_code; 0 or less: sent by somebody */
bool trap_is_breakpoint(struct thread *t);
bool thread_pc(struct thread *t, uint64_t *pc);
void thread_pc_set(struct thread *t, uint64_t pc);
/* Those that it neither blocks nor ignores: the program is to see what happens then. */
uint64_t signals_waiting(const struct thread *t);
uint32_t watch_hits_of(const struct guardian *g, const struct thread *t); /* by debug register */
bool watchpoint_is_due(const struct guardian *g, const struct thread *t);
/* The next that a stopped one does is to come to that */
bool trap_is_due(struct guardian *g, struct thread *t);
void traps_first(struct guardian *g, struct thread *t); /* serve all others while t waits */
bool action_known(const struct guardian *g, enum forced f);

#endif
