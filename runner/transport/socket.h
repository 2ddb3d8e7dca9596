/* SPDX-License-Identifier: MIT */
/* A transport whose other end is a process that we fork, with a socket of messages (SOCK_SEQPACKET). */
#ifndef TRAPLESS_RUNNER_SOCKET_H
#define TRAPLESS_RUNNER_SOCKET_H

#include "transport.h"

/* It lives there until it returns its exit status. */
typedef int socket_life(struct target *t, const struct options *o, int sock);

/* As attach(): sets t->guardian and t->sock. */
int socket_attach(struct target *t, const struct options *o, socket_life *life);
/* As hear(), and WORD_END whenever the other end is gone. */
enum word socket_hear(const struct target *t, struct message *m, bool block);
bool socket_say(const struct target *t, const struct message *m, bool wait);

#endif
