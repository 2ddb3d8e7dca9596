/* SPDX-License-Identifier: MIT */
/*
 * A program whose own threads are traced for a while by a process that it makes for that: LeakSanitizer's, as the
 * program ends.
 */
#ifndef TRAPLESS_RUNNER_GUARDIAN_FAMILY_SELFTRACE_H
#define TRAPLESS_RUNNER_GUARDIAN_FAMILY_SELFTRACE_H

#include "../guardian.h"

void selftrace_shows(struct thread *t, struct machine_regs *regs);
bool selftrace_may_part(struct guardian *g, struct thread *t);
bool selftrace_begin(struct guardian *g, struct thread *t);
void selftrace_over(struct guardian *g, struct thread *t);

#endif
