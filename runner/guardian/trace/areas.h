/* SPDX-License-Identifier: MIT */
/*
 * Memory of ours in the target, but for the agent's own and the control block: putting it in order, and giving it
 * back.
 */
#ifndef TRAPLESS_RUNNER_GUARDIAN_TRACE_AREAS_H
#define TRAPLESS_RUNNER_GUARDIAN_TRACE_AREAS_H

#include "../guardian.h"

void areas_sort(struct tl_ctl_area *a, size_t n); /* by address */
/* Neighbours from `first` on, to be unmapped by one call: each is two stops. Behind the last of them. */
size_t areas_run(const struct tl_ctl_area *a, size_t n, size_t first);
/* In that process: where nothing is mapped up to the next one (of n, by address, `shared` none), one reaches to that. */
void areas_join(pid_t pid, struct tl_ctl_area *a, size_t n);

#endif
