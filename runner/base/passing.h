/* SPDX-License-Identifier: MIT */
/* Messages over Unix sockets that carry descriptors with them (unix(7), SCM_RIGHTS). */
#ifndef TRAPLESS_RUNNER_BASE_PASSING_H
#define TRAPLESS_RUNNER_BASE_PASSING_H

#include <stddef.h>
#include <sys/types.h>
#include <sys/un.h>

enum { PASSED_MAX = 8 };

struct passed {
	int fds[PASSED_MAX], n; /* the receiver's to close */
	uid_t uid; /* of the sender; (uid_t)-1: not told, as without SO_PASSCRED */
};

/* A datagram socket at `at` that tells who sends. It, or -errno. */
int pass_listen(const struct sockaddr_un *at);
/* To: NULL for a connected socket. Never waits. 0, or -errno. */
int pass(int sock, const struct sockaddr_un *to, const void *data, size_t size, const int *fds,
	int n);
/* Never waits. 0, or -errno with nothing to close: -EMSGSIZE for a message of another size. */
int pass_receive(int sock, void *data, size_t size, struct passed *p);
void passed_close(struct passed *p);

/* A file that our parent has handed over by a name as /proc/self/fd/N has been opened: N is for no program that we start. */
void passed_by_name(const char *path);

#endif
