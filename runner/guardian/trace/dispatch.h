/* SPDX-License-Identifier: MIT */
/*
 * Threads whose system calls the kernel turns into SIGSYS, but for those that code of one range makes
 * (PR_SET_SYSCALL_USER_DISPATCH: Wine, sandboxes). Switched off for what is to come, and on again. false: it cannot
 * be.
 */
#ifndef TRAPLESS_RUNNER_GUARDIAN_TRACE_DISPATCH_H
#define TRAPLESS_RUNNER_GUARDIAN_TRACE_DISPATCH_H

#include "../guardian.h"

bool dispatch_off(struct thread *t);
void dispatch_on(struct thread *t);

bool dispatch_wants_syscalls(const struct guardian *g, const struct thread *t);
enum verdict dispatch_at_stop(struct guardian *g, struct thread *t);
enum verdict dispatch_at_signal(struct guardian *g, struct thread *t, int sig);

#endif
