/* SPDX-License-Identifier: MIT */
/* Memory of ours in the target, by calls of the helper. */
#ifndef TRAPLESS_RUNNER_GUARDIAN_INJECT_ROOM_H
#define TRAPLESS_RUNNER_GUARDIAN_INJECT_ROOM_H

#include "../guardian.h"

int room_protect(struct guardian *g, uint64_t at, uint64_t size, int prot);
void room_unmap(struct guardian *g, uint64_t *at, uint64_t size);
void client_flatten(struct guardian *g, const struct client *c); /* before its module is unmapped */
int agent_room(struct guardian *g); /* mapped; the helper has its stack there */

#endif
