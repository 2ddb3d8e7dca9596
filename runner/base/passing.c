/* SPDX-License-Identifier: MIT */
#define _GNU_SOURCE
#include "passing.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

union control {
	struct cmsghdr h;
	char room[CMSG_SPACE(PASSED_MAX * sizeof(int)) + CMSG_SPACE(sizeof(struct ucred))];
};

int pass_listen(const struct sockaddr_un *at)
{
	const int yes = 1;
	int fd = socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0), err;

	if (fd >= 0 && !setsockopt(fd, SOL_SOCKET, SO_PASSCRED, &yes, sizeof(yes)) &&
		!bind(fd, (const struct sockaddr *)at, sizeof(*at)))
		return fd;
	err = errno;
	if (fd >= 0)
		close(fd);
	return -err;
}

int pass(int sock, const struct sockaddr_un *to, const void *data, size_t size, const int *fds,
	int n)
{
	union control c;
	struct iovec iov = {(void *)data, size};
	struct msghdr msg = {.msg_name = (void *)to,
		.msg_namelen = to ? sizeof(*to) : 0,
		.msg_iov = &iov,
		.msg_iovlen = 1,
		.msg_control = &c,
		.msg_controllen = CMSG_SPACE((size_t)n * sizeof(int))};

	memset(&c, 0, sizeof(c));
	c.h.cmsg_level = SOL_SOCKET;
	c.h.cmsg_type = SCM_RIGHTS;
	c.h.cmsg_len = CMSG_LEN((size_t)n * sizeof(int));
	if (n)
		memcpy(CMSG_DATA(&c.h), fds, (size_t)n * sizeof(int));
	return sendmsg(sock, &msg, MSG_NOSIGNAL | MSG_DONTWAIT) == (ssize_t)size ? 0 : -errno;
}

void passed_close(struct passed *p)
{
	while (p->n)
		close(p->fds[--p->n]);
}

static void take(struct passed *p, struct cmsghdr *h)
{
	struct ucred from;
	size_t n = (h->cmsg_len - CMSG_LEN(0)) / sizeof(int);

	if (h->cmsg_level != SOL_SOCKET)
		return;
	if (h->cmsg_type == SCM_RIGHTS && !p->n) {
		memcpy(p->fds, CMSG_DATA(h), n * sizeof(int));
		p->n = (int)n;
	} else if (h->cmsg_type == SCM_CREDENTIALS) {
		memcpy(&from, CMSG_DATA(h), sizeof(from));
		p->uid = from.uid;
	}
}

int pass_receive(int sock, void *data, size_t size, struct passed *p)
{
	union control c;
	struct iovec iov = {data, size};
	struct msghdr msg = {
		.msg_iov = &iov, .msg_iovlen = 1, .msg_control = &c, .msg_controllen = sizeof(c)};
	ssize_t n = recvmsg(sock, &msg, MSG_CMSG_CLOEXEC | MSG_DONTWAIT);

	p->n = 0;
	p->uid = (uid_t)-1;
	if (n < 0)
		return -errno;
	for (struct cmsghdr *h = CMSG_FIRSTHDR(&msg); h; h = CMSG_NXTHDR(&msg, h))
		take(p, h);
	if ((size_t)n == size && !(msg.msg_flags & (MSG_TRUNC | MSG_CTRUNC)))
		return 0;
	passed_close(p);
	return -EMSGSIZE;
}

void passed_by_name(const char *path)
{
	int fd;

	if (sscanf(path, "/proc/self/fd/%d", &fd) == 1)
		close(fd);
}
