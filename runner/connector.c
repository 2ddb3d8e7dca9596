/* SPDX-License-Identifier: MIT */
#define _GNU_SOURCE
#include "connector.h"

#include <errno.h>
#include <linux/cn_proc.h>
#include <linux/connector.h>
#include <linux/netlink.h>
#include <poll.h>
#include <stdint.h>
#include <string.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

#include "base/clock.h"

enum { ANSWER_MS = 200, ROOM = 1 << 20, EVENT_ROOM = 256 };

/* As struct cn_msg, which has no end. */
struct head {
	struct cb_id id;
	uint32_t seq, ack;
	uint16_t len, flags;
};

_Static_assert(sizeof(struct head) == sizeof(struct cn_msg), "the kernel's");

struct packet {
	struct nlmsghdr netlink;
	struct head head;
	union {
		enum proc_cn_mcast_op listen;
		struct proc_event event;
	};
} __attribute__((packed, aligned(4)));

/* `number` and one comes back in the answer. */
static int listen_to(int fd, uint32_t number)
{
	const struct sockaddr_nl all = {.nl_family = AF_NETLINK, .nl_groups = CN_IDX_PROC};
	struct packet p = {.netlink = {.nlmsg_type = NLMSG_DONE},
		.head = {.id = {CN_IDX_PROC, CN_VAL_PROC}, .ack = number, .len = sizeof(p.listen)},
		.listen = PROC_CN_MCAST_LISTEN};
	const int room = ROOM;

	p.netlink.nlmsg_len = sizeof(p.netlink) + sizeof(p.head) + sizeof(p.listen);
	setsockopt(fd, SOL_SOCKET, SO_RCVBUF, &room, sizeof(room));
	if (bind(fd, (const struct sockaddr *)&all, sizeof(all)))
		return -1;
	return send(fd, &p, p.netlink.nlmsg_len, 0) < 0 ? -1 : 0;
}

static bool wait_for_word(int fd, double until)
{
	struct pollfd p = {.fd = fd, .events = POLLIN};
	double left = until - now_ms();

	return left > 0 && poll(&p, 1, (int)left + 1) > 0;
}

/*
 * In other namespaces it says nothing at all, but the answers that others get
 * come here, too. By `ack`: the kernel has its own `seq`. What other processes
 * do is told meanwhile, and makes the wait no longer.
 */
static bool answers(int fd, uint32_t number)
{
	const double until = now_ms() + ANSWER_MS;
	union {
		struct packet packet;
		char room[EVENT_ROOM];
	} u;

	while (wait_for_word(fd, until)) {
		if (recv(fd, &u, sizeof(u), MSG_DONTWAIT) < (ssize_t)sizeof(u.packet.netlink))
			return false;
		if (u.packet.netlink.nlmsg_type != NLMSG_DONE)
			return false;
		if (u.packet.event.what == PROC_EVENT_NONE && u.packet.head.ack == number + 1)
			return !u.packet.event.event_data.ack.err;
	}
	return false;
}

/* No two processes of one moment have the same, in whatever namespaces they are. */
static uint32_t own_number(void)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	return (uint32_t)now.tv_nsec ^ (uint32_t)getpid() << 16;
}

int connector_open(void)
{
	int fd = socket(AF_NETLINK, SOCK_DGRAM | SOCK_CLOEXEC, NETLINK_CONNECTOR);
	uint32_t number = own_number();

	if (fd >= 0 && !listen_to(fd, number) && answers(fd, number))
		return fd;
	if (fd >= 0)
		close(fd);
	return -1;
}

static void take(const struct proc_event *e, void (*news)(pid_t pid))
{
	if (e->what == PROC_EVENT_EXEC)
		news(e->event_data.exec.process_tgid);
	else if (e->what == PROC_EVENT_FORK &&
		 e->event_data.fork.child_pid == e->event_data.fork.child_tgid)
		news(e->event_data.fork.child_pid);
}

bool connector_read(int fd, void (*news)(pid_t pid))
{
	bool whole = true;
	union {
		struct packet packet;
		char room[EVENT_ROOM];
	} u;
	struct proc_event event;
	ssize_t n;

	for (;;) {
		memset(&u, 0, sizeof(u));
		n = recv(fd, &u, sizeof(u), MSG_DONTWAIT);
		if (n > 0) {
			event = u.packet.event;
			take(&event, news);
		} else if (n < 0 && errno == ENOBUFS) {
			whole = false;
		} else if (n == 0 || errno != EINTR) {
			return whole;
		}
	}
}
