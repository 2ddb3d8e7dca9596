/* SPDX-License-Identifier: MIT */
/* A stop ends whatever call a thread slept in. */
#ifndef TRAPLESS_RUNNER_GUARDIAN_TRACE_RESTART_H
#define TRAPLESS_RUNNER_GUARDIAN_TRACE_RESTART_H

#include "../guardian.h"

uint64_t sleep_clock(struct guardian *g, struct thread *t);
uint64_t sleep_so_far(struct guardian *g, struct thread *t);
uint64_t sleep_confirmed(struct thread *t, uint64_t slept);
void call_restart(
	struct guardian *g, struct thread *t, struct machine_regs *regs, uint64_t slept_ns);
bool call_was_cut(struct thread *t, const struct machine_regs *regs);
bool call_is_fragile(long nr);
bool call_has_limit(long nr); /* ... and a time limit among its arguments */
bool again_coming(const struct guardian *g);

/* Concerns: see concern.h. */
bool again_wants_syscalls(const struct guardian *g, const struct thread *t);
enum verdict again_at_call(struct guardian *g, struct thread *t);
enum verdict call_at_signal(struct guardian *g, struct thread *t, int sig);

#endif
