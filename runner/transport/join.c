/* SPDX-License-Identifier: MIT */
#define _GNU_SOURCE
#include "../base/joining.h"

#include <errno.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

#include "../../home/control.h"
#include "../options.h"
#include "../base/passing.h"
#include "../session.h"

enum { DECLINE_EVERY_MS = 5, DECLINE_TRIES = 20 };

/* As we have checked it. */
static int module_file(const struct tl_tap *m)
{
	int fd = memfd_create("trapless-module", MFD_CLOEXEC);

	if (fd >= 0 && write(fd, m->file, m->size) == (ssize_t)m->size)
		return fd;
	if (fd >= 0)
		close(fd);
	return -1;
}

static int knock(pid_t target, const struct join_request *r, const int *fds, int nfds)
{
	struct sockaddr_un where[PLACES_MAX];
	int n = places_of_guardian(where, target), i, ret = -ENOENT,
	    fd = socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC, 0);

	for (i = 0; i < n && ret && fd >= 0; i++)
		ret = pass(fd, &where[i], r, sizeof(*r), fds, nfds);
	if (fd >= 0)
		close(fd);
	return ret;
}

static int send_all(const struct session *s, const struct join_request *r, int standing, int tell)
{
	int module = module_file(s->mod), ret = -1;
	const int fds[JOIN_FILES] = {[JOIN_TELL] = tell,
		[JOIN_MEMORY] = s->fd,
		[JOIN_MODULE] = module,
		[JOIN_BOARD] = s->board.fd,
		[JOIN_STANDING] = standing};

	if (module >= 0) {
		ret = knock(r->target, r, fds, JOIN_FILES);
		close(module);
	}
	return ret;
}

void guardian_decline(pid_t target)
{
	const struct join_request r = {.magic = JOIN_MAGIC,
		.version = TL_CTL_VERSION,
		.agent = agent_checksum(),
		.target = target,
		.declines = true};
	const struct timespec nap = {0, DECLINE_EVERY_MS * 1000000L};
	int i;

	/* it has taken the target, and may not listen yet */
	for (i = 0; i < DECLINE_TRIES && knock(target, &r, NULL, 0); i++)
		nanosleep(&nap, NULL);
}

int guardian_join(const struct session *s, pid_t target, int standing, const struct options *o)
{
	const struct join_request r = {.magic = JOIN_MAGIC,
		.version = TL_CTL_VERSION,
		.agent = agent_checksum(),
		.memory_size = s->size,
		.target = target,
		.traps_only = (uint32_t)o->traps_only,
		.verbose = (uint32_t)o->verbose,
		.explain = (uint32_t)o->explain,
		.follow = !o->no_follow};
	int pair[2], ret;

	if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, pair))
		return -1;
	ret = send_all(s, &r, standing, pair[1]);
	close(pair[1]);
	if (!ret)
		return pair[0];
	close(pair[0]);
	return -1;
}
