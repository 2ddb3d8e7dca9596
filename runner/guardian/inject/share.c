/* SPDX-License-Identifier: MIT */
/*
 * Memory that the target shares with us. No paths: it goes over as
 * descriptors, through a socket pair that the helper makes.
 */
#define _GNU_SOURCE
#include <inttypes.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <unistd.h>

#include "../../base/passing.h"
#include "../../machine/calls.h"
#include "../guardian.h"
#include "../trace/remote.h"
#include "../trace/say.h"
#include "../trace/threads.h"
#include "share.h"

/* A recvmsg() by the helper, its structures in the helper's own stack. */
static int recv_fds(struct guardian *g, int sock, uint64_t room, int *fds, size_t n)
{
	struct {
		struct msghdr msg;
		struct iovec iov;
		char byte, pad[15];
		char control[CMSG_SPACE(PIECES_MAX * sizeof(int))];
	} r;
	long ret;

	memset(&r, 0, sizeof(r));
	r.iov.iov_base = (void *)(uintptr_t)(room + offsetof(__typeof__(r), byte));
	r.iov.iov_len = 1;
	r.msg.msg_iov = (void *)(uintptr_t)(room + offsetof(__typeof__(r), iov));
	r.msg.msg_iovlen = 1;
	r.msg.msg_control = (void *)(uintptr_t)(room + offsetof(__typeof__(r), control));
	r.msg.msg_controllen = CMSG_SPACE(n * sizeof(int));
	if (target_write(g, g->pid, room, &r, sizeof(r)))
		return -EFAULT;
	ret = remote_call(g, g->helper, SYS_recvmsg, (uint64_t)sock, room,
		MSG_CMSG_CLOEXEC | MSG_DONTWAIT, 0, 0, 0);
	if (ret != 1)
		return ret < 0 ? (int)ret : -EIO;
	target_read(g, g->pid, room, &r, sizeof(r));
	memcpy(fds, r.control + CMSG_LEN(0), n * sizeof(int));
	return 0;
}

static void remote_close(struct guardian *g, int fd)
{
	if (fd >= 0)
		remote_call(g, g->helper, SYS_close, (uint64_t)fd, 0, 0, 0, 0, 0);
}

/*
 * The socket pair in the target, as the kernel itself writes it to the far end
 * of the helper's stack: who comes when we have been killed closes it. A number
 * that we had closed may be the program's by then, which the inode tells.
 */
struct sockets {
	int fd[2]; /* the same: there are none */
	uint64_t inode[2]; /* 0: not closed yet, whatever it is */
};

static uint64_t sockets_at(const struct guardian *g)
{
	return g->ctl->agent + g->ctl->agent_size - HELPER_STACK;
}

/* 0: it is no socket. */
static uint64_t socket_inode(struct guardian *g, int fd)
{
	char path[64], name[64] = "";
	uint64_t inode = 0;

	snprintf(path, sizeof(path), "/proc/%d/fd/%d", eye_of(g), fd);
	if (readlink(path, name, sizeof(name) - 1) > 0)
		sscanf(name, "socket:[%" SCNu64 "]", &inode);
	return inode;
}

static long sockets_make(struct guardian *g, struct sockets *s)
{
	uint64_t at = sockets_at(g);
	long ret = remote_call(
		g, g->helper, SYS_socketpair, AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC, 0, at, 0, 0);

	if (ret)
		return ret;
	if (target_read(g, g->pid, at, s, sizeof(*s)) != sizeof(*s))
		return -EFAULT;
	s->inode[0] = socket_inode(g, s->fd[0]);
	s->inode[1] = socket_inode(g, s->fd[1]);
	return target_write(g, g->pid, at, s, sizeof(*s));
}

static int by_number(const void *a, const void *b)
{
	return *(const int *)a - *(const int *)b;
}

/* In one call, where none of the program's lies between them; -1: there is none. */
static void remote_close_all(struct guardian *g, int *fd, size_t n)
{
	size_t i;

	qsort(fd, n, sizeof(*fd), by_number);
	for (; n && *fd < 0; fd++)
		n--;
	for (i = 1; i < n && fd[i] == fd[i - 1] + 1; i++)
		;
	if (n > 1 && i == n &&
		!remote_call(g, g->helper, SYS_close_range, (uint64_t)fd[0], (uint64_t)fd[n - 1], 0,
			0, 0, 0))
		return;
	for (i = 0; i < n; i++)
		remote_close(g, fd[i]);
}

static void sockets_close(struct guardian *g, const struct sockets *s, const int *fds, size_t n)
{
	const struct sockets none = {{0, 0}, {0, 0}};
	int all[2 + PIECES_MAX] = {-1, -1};

	if (s->fd[0] != s->fd[1])
		memcpy(all, s->fd, sizeof(s->fd));
	memcpy(all + 2, fds, n * sizeof(*fds));
	remote_close_all(g, all, 2 + n);
	target_write(g, g->pid, sockets_at(g), &none, sizeof(none));
}

void sockets_recover(struct guardian *g)
{
	struct sockets s;
	int i;

	if (!g->ctl->agent || target_read(g, g->pid, sockets_at(g), &s, sizeof(s)) != sizeof(s) ||
		s.fd[0] == s.fd[1])
		return;
	for (i = 0; i < 2; i++) {
		uint64_t inode = socket_inode(g, s.fd[i]);

		if (inode && (!s.inode[i] || s.inode[i] == inode))
			remote_close(g, s.fd[i]);
	}
}

static int take_end(struct guardian *g, int fd)
{
	/* Of a process whose first thread has ended only another thread shows the descriptors. */
	int pidfd = (int)syscall(SYS_pidfd_open, g->helper->tid, O_EXCL /* PIDFD_THREAD */), got,
	    err;

	if (pidfd < 0)
		pidfd = (int)syscall(SYS_pidfd_open, g->pid, 0);

	if (pidfd < 0)
		return -errno;
	got = (int)syscall(SYS_pidfd_getfd, pidfd, fd, 0);
	err = errno;
	close(pidfd);
	return got < 0 ? -err : got;
}

/* From that moment on it is in our books. A core dump of the program would fill all of it, and write it. */
static int map_piece(struct guardian *g, const struct piece *p, int fd)
{
	long ret = remote_call(g, g->helper, SYS_mmap, 0, p->size, PROT_READ | PROT_WRITE,
		MAP_SHARED, (uint64_t)fd, 0);

	if (ret < 0 && ret > -4096)
		return (int)ret;
	remote_call(g, g->helper, SYS_madvise, (uint64_t)ret, p->size, MADV_DONTDUMP, 0, 0, 0);
	if (p->of_session && tl_ctl_area_add(g->ctl, (uint64_t)ret, p->size, true)) {
		remote_call(g, g->helper, SYS_munmap, (uint64_t)ret, p->size, 0, 0, 0, 0);
		return -ENOMEM;
	}
	*p->at = (uint64_t)ret;
	return 0;
}

int share_memory(struct guardian *g, const struct piece *p, size_t n)
{
	uint64_t room = g->stack_top - HELPER_STACK / 2;
	struct sockets pair = {{0, 0}, {0, 0}};
	int out[PIECES_MAX], fds[PIECES_MAX] = {-1, -1, -1}, mine = -1;
	size_t i;
	long ret;

	for (i = 0; i < n; i++)
		out[i] = p[i].fd;
	ret = sockets_make(g, &pair);
	if (!ret)
		ret = mine = take_end(g, pair.fd[0]);
	if (ret >= 0)
		ret = pass(mine, NULL, "", 1, out, (int)n);
	if (ret >= 0)
		ret = recv_fds(g, pair.fd[1], room, fds, n);
	for (i = 0; i < n && ret >= 0; i++)
		ret = map_piece(g, &p[i], fds[i]);
	sockets_close(g, &pair, fds, n);
	if (mine >= 0)
		close(mine);
	return ret < 0 ? guardian_fail(g,
				 "process %d could not be given the session's memory: %s%s", g->pid,
				 strerror((int)-ret), limit_next(ret))
		       : 0;
}
