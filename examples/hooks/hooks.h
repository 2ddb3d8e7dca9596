/* SPDX-License-Identifier: MIT */
/* The hooks of server.c, and what they tell. */
#ifndef KV_HOOKS_H
#define KV_HOOKS_H

#include <stdint.h>
#include <time.h>
#include <trapless/hook.h>

struct client {
	uint32_t number; /* in the order in which they came */
	uint16_t port;
};

enum status { FOUND, NOT_FOUND, BAD };

struct request {
	const struct client *client;
	const char *command; /* "GET", "SET", "DEL", or "?" */
	char key[64];
	char *value; /* of SET */
	struct timespec begun;
};

TL_HOOK(kv, accepted, (const struct client *, client))
/* `size`: bytes of the line. */
TL_HOOK(kv, request, (const struct request *, request), (uint32_t, size))
/* Just before the answer is sent; `size`: its bytes; `us`: microseconds since the request was there. */
TL_HOOK(kv, answered, (const struct request *, request), (enum status, status), (uint32_t, size),
	(double, us))

#endif
