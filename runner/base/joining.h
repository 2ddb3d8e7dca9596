/* SPDX-License-Identifier: MIT */
/*
 * A session that finds its target traced by another one's guardian of this
 * user: it sends all that a guardian needs to serve it to that one's socket,
 * which lies beside the directories of the sessions. The answers
 * come over the socket that is passed, as from a guardian of its own.
 */
#ifndef TRAPLESS_RUNNER_JOINING_H
#define TRAPLESS_RUNNER_JOINING_H

#include <stdint.h>
#include <sys/types.h>
#include <sys/un.h>

#define JOIN_MAGIC 0x746c6a31u /* "tlj1" */

enum join_file { JOIN_TELL, JOIN_MEMORY, JOIN_MODULE, JOIN_BOARD, JOIN_STANDING, JOIN_FILES };

struct join_request {
	uint32_t magic, version; /* of the control block */
	uint64_t agent; /* a checksum: only the same release will do */
	uint64_t memory_size;
	int32_t target;
	uint32_t traps_only, verbose, explain, follow;
	uint32_t declines; /* it does not come: nothing else counts then, nor is passed */
};

/* The socket for its answers, or the other end's end where it does not serve us; -1: it cannot be asked. */
struct session;
struct options;
int guardian_join(const struct session *s, pid_t target, int standing, const struct options *o);
/* Nor need its target wait for us. */
void guardian_decline(pid_t target);

/* control/place.c: where it listens, 0 or -1; how many places there are where it may. */
enum { PLACES_MAX = 3 };
int place_of_guardian(struct sockaddr_un *a, pid_t target);
int places_of_guardian(struct sockaddr_un a[PLACES_MAX], pid_t target);

/* guardian/inject/inject.c */
uint64_t agent_checksum(void);

#endif
