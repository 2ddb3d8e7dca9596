/* SPDX-License-Identifier: MIT */
/* Children of the targets, each of which becomes a target with a guardian of its own. */
#ifndef TRAPLESS_RUNNER_FOLLOWED_H
#define TRAPLESS_RUNNER_FOLLOWED_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

struct message;
struct options;
struct session;
struct target;

/* Guardian `from` has told of one that waits, parked at `at`; fresh: it has just become another program. */
void followed_take(pid_t pid, uint64_t at, bool fresh, pid_t from);
/* Those that wait go on: as targets, or, where the session leaves, untraced. Whose guardian has had its say is retired. */
void followed_go_on(struct target *targets, int *ntargets, struct session *s,
	const struct options *o, bool leaving);
/* Room for one more target. NULL: there is none. */
struct target *followed_place(struct target *targets, int *ntargets);
/* The closing figures of those that are retired; how many were never targets. */
const struct message *followed_counts(void);
uint64_t followed_not(void);
/* One that is a target, for nothing: it counts as untraced, and the first is told of. */
void followed_unseen(const char *why, const struct options *o);
bool followed_failed(void);
pid_t followed_stranger(void); /* as session.strange */

#endif
