/* SPDX-License-Identifier: MIT */
/* Sending to a runner without waiting for it: it may be stopped, and threads of the target wait for who tells it. */
#define _GNU_SOURCE
#include <errno.h>
#include <poll.h>
#include <stdlib.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "tell.h"

/* How long the last word is waited for where no process can be made for it. */
enum { NO_PROCESS_MS = 5000 };

/* What the runner has not taken yet. */
struct backlog {
	struct message *list;
	size_t first, n, max;
};

struct backlog *backlog_make(void)
{
	return calloc(1, sizeof(struct backlog));
}

void backlog_free(struct backlog *b)
{
	if (b)
		free(b->list);
	free(b);
}

/* false: it has to wait. Where nobody listens any more it is done. */
static bool send_now(const struct teller *t, const struct message *m)
{
	while (send(t->sock, m, sizeof(*m), MSG_NOSIGNAL | MSG_DONTWAIT) < 0) {
		if (errno == EAGAIN)
			return false;
		if (errno != EINTR)
			break;
	}
	return true;
}

static void keep(struct backlog *b, const struct message *m)
{
	if (!b)
		return;
	if (b->n == b->max) {
		size_t max = b->max ? b->max * 2 : 64;
		void *list = realloc(b->list, max * sizeof(*b->list));

		if (!list)
			return;
		b->list = list;
		b->max = max;
	}
	b->list[b->n++] = *m;
}

bool tell_rest(const struct teller *t)
{
	struct backlog *b = t->backlog;

	if (!b)
		return true;
	while (b->first < b->n && send_now(t, &b->list[b->first]))
		b->first++;
	if (b->first < b->n)
		return false;
	b->first = b->n = 0;
	return true;
}

void tell_send(const struct teller *t, const struct message *m)
{
	if (!tell_rest(t) || !send_now(t, m))
		keep(t->backlog, m);
}

/* --- the end ----------------------------------------------------------------------------- */

static void close_from(unsigned fd)
{
#ifdef SYS_close_range
	if (!syscall(SYS_close_range, fd, ~0u, 0))
		return;
#endif
	while (fd < 1024)
		close((int)fd++);
}

/* Until all is told, the other end is gone, or its patience is over: ms, -1: it has no end. */
static void tell_waiting(const struct teller *t, int patience)
{
	struct pollfd p = {.fd = t->sock, .events = POLLOUT};

	while (!tell_rest(t) && poll(&p, 1, patience))
		;
	shutdown(t->sock, SHUT_RDWR);
}

/* In a process of its own that nobody has to wait for, and that keeps nothing else open. */
static void tell_behind(const struct teller *t)
{
	const struct teller end = {.sock = STDIN_FILENO, .backlog = t->backlog};
	pid_t pid = fork();

	if (pid < 0)
		tell_waiting(t, NO_PROCESS_MS);
	if (pid > 0)
		waitpid(pid, NULL, 0);
	if (pid) {
		t->backlog->n = 0;
		return;
	}
	if (fork() > 0) /* where there is no second one, the first is waited for */
		_exit(0);
	dup2(t->sock, end.sock);
	close_from(1);
	tell_waiting(&end, -1);
	_exit(0);
}

void tell_last(const struct teller *t, uint32_t number, const char *text)
{
	tell(t, MSG_DONE, number, text);
	if (tell_rest(t))
		shutdown(t->sock, SHUT_RDWR);
	else
		tell_behind(t);
}
