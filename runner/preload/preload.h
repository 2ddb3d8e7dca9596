/* SPDX-License-Identifier: MIT */
/*
 * --preload: the agent goes in as an LD_PRELOAD object, nobody ptraces. An
 * attendant process takes the guardian's place towards the runner; it only
 * looks at shared memory, and its end tells the agent to leave.
 */
#ifndef TRAPLESS_RUNNER_PRELOAD_H
#define TRAPLESS_RUNNER_PRELOAD_H

#include <sys/types.h>

#include "../../agent/preload/preload.h"
#include "../options.h"
#include "../session.h"

struct preload {
	int fd, agent_fd; /* the memory, and the agent as a file */
	struct tl_preload *mem;
};

/* check.c: can CMD be entered this way at all? 0, or -1 with the reason in why. */
int preload_check(const struct tl_tap *mod, const struct options *o, char *why, size_t room);

/* launch.c: before the fork; 0, or -1 with a message printed. */
int preload_prepare(struct preload *pl, struct session *s, const struct options *o);
/* In CMD's process, just before its exec: environment and descriptors. 0 or -1. */
int preload_enter(const struct preload *pl);

/* attend.c: the attendant's life. sock: to the runner; cmd: CMD's process. Returns its exit status. */
int preload_attend(struct preload *pl, struct session *s, const struct options *o, int sock,
	pid_t cmd, struct standing *standing);

#endif
