/* SPDX-License-Identifier: MIT */
#define _GNU_SOURCE
#include "socket.h"

#include <dirent.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

#include "../session.h"
#include "../target.h"

/* Of other targets, and of who asks: their ends are to be ours alone. */
static void close_sockets_but(int keep)
{
	struct dirent *e;
	struct stat st;
	DIR *d = opendir("/proc/self/fd");

	while (d && (e = readdir(d))) {
		int fd = atoi(e->d_name);

		if (fd > STDERR_FILENO && fd != keep && !fstat(fd, &st) && S_ISSOCK(st.st_mode))
			close(fd);
	}
	if (d)
		closedir(d);
}

static void live(struct target *t, const struct options *o, int sock, socket_life *life)
{
	const struct session *s = t->session;

	close_sockets_but(sock);
	if (s->out && s->out != stdout)
		close(fileno(s->out));
	_exit(life(t, o, sock));
}

static int failed(void)
{
	fprintf(stderr, "trapless-run: cannot start a guardian: %s\n", strerror(errno));
	return -1;
}

int socket_attach(struct target *t, const struct options *o, socket_life *life)
{
	int pair[2];

	t->sock = -1; /* of one before */
	if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, pair))
		return failed();
	fflush(NULL);
	t->guardian = fork();
	if (!t->guardian) {
		close(pair[0]);
		live(t, o, pair[1], life);
	}
	close(pair[1]);
	if (t->guardian < 0) {
		close(pair[0]);
		return failed();
	}
	t->sock = pair[0];
	return 0;
}

enum word socket_hear(const struct target *t, struct message *m, bool block)
{
	ssize_t n;

	do /* it left without reading our last word: its own still come */
		n = recv(t->sock, m, sizeof(*m), block ? 0 : MSG_DONTWAIT);
	while (n < 0 && errno == ECONNRESET);
	if (n == (ssize_t)sizeof(*m))
		return WORD_CAME;
	return n < 0 && (errno == EINTR || errno == EAGAIN) ? WORD_NONE : WORD_END;
}

bool socket_say(const struct target *t, const struct message *m, bool wait)
{
	return send(t->sock, m, sizeof(*m), MSG_NOSIGNAL | (wait ? 0 : MSG_DONTWAIT)) ==
	       (ssize_t)sizeof(*m);
}
