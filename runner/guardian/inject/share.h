/* SPDX-License-Identifier: MIT */
/* Memory that the target shares with us. With the helper held. */
#ifndef TRAPLESS_RUNNER_GUARDIAN_INJECT_SHARE_H
#define TRAPLESS_RUNNER_GUARDIAN_INJECT_SHARE_H

#include "../guardian.h"

enum { PIECES_MAX = 3 };
struct piece {
	int fd;
	uint64_t size, *at; /* at: filled in */
	bool of_session; /* goes with it */
};
int share_memory(struct guardian *g, const struct piece *p, size_t n);
void sockets_recover(struct guardian *g); /* what that left open when its guardian was killed */

#endif
