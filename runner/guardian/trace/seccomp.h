/* SPDX-License-Identifier: MIT */
/* System calls of ours in a thread that has a seccomp filter, which may kill it for them. */
#ifndef TRAPLESS_RUNNER_GUARDIAN_TRACE_SECCOMP_H
#define TRAPLESS_RUNNER_GUARDIAN_TRACE_SECCOMP_H

#include "../guardian.h"

bool suspends_filters(void); /* may we, in all likelihood? */
bool is_filtered(pid_t tid); /* by a filter that may kill it for a call of ours */
long trace_options(void);
/* Before and after calls by t, which is stopped. false: they may kill it, and nothing can be done about that. */
bool calls_begin(struct guardian *g, struct thread *t);
void calls_end(struct thread *t);

/* By a stopped thread of the program, which does not notice. `at`: room in its memory for `calls`, 256 bytes. */
bool calls_aside(struct guardian *g, struct thread *t,
	bool (*calls)(struct guardian *g, struct thread *t, uint64_t at, void *arg), void *arg);
bool calls_barred(const struct guardian *g); /* ... whichever thread we take */

#endif
