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
bool dispatch_leads_on(struct guardian *g, struct thread *t); /* a SIGSYS: of a call that goes on */

#endif
