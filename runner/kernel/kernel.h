/* SPDX-License-Identifier: MIT */
/*
 * Scripts for the kernel: it has the session's memory, runs all handlers, and
 * merges what they print; here are files, the clock's ticks and the user. See
 * kmod/device.h.
 */
#ifndef TRAPLESS_RUNNER_KERNEL_H
#define TRAPLESS_RUNNER_KERNEL_H

#include "../session.h"

static inline bool is_for_kernel(const struct tl_tap *m)
{
	return m->header->flags & TL_TAP_KERNEL;
}

/* session.c: what session_create() does for such a module. 0, or -1 with s->why. */
int kernel_create(struct session *s, const struct tl_tap *mod);

/* attend.c: life at the other end of the runner's socket, until process `pid` (0: none) ends. Returns its exit status. */
int kernel_attend(
	struct session *s, const struct options *o, int sock, struct standing *standing, pid_t pid);

#endif
