/* SPDX-License-Identifier: MIT */
/* `trapless-run --sessions` and its like: ask the sessions that run. */
#define _GNU_SOURCE
#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "../passing.h"
#include "control.h"

enum { PATIENCE_MS = 10000 };

struct asking {
	const struct request *request;
	pid_t only; /* 0: all */
	int asked, done;
};

static int send_request(const struct place *p, const struct request *r, int end)
{
	int fd = socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC, 0), ret;

	if (fd < 0)
		return -errno;
	ret = pass(fd, &p->socket, r, sizeof(*r), &end, 1);
	close(fd);
	return ret;
}

/* The answer's text: whoever runs the session must not speak to the terminal. */
static void print_file(int fd)
{
	char buf[4096];
	ssize_t n;
	off_t at = 0;

	while ((n = pread(fd, buf, sizeof(buf), at)) > 0) {
		for (ssize_t i = 0; i < n; i++)
			if ((unsigned char)buf[i] < ' ' && buf[i] != '\n')
				buf[i] = '?';
		fwrite(buf, 1, (size_t)n, stdout);
		at += n;
	}
}

static bool take_reply(int sock, struct reply *r)
{
	struct pollfd p = {.fd = sock, .events = POLLIN};
	struct passed file;

	if (poll(&p, 1, PATIENCE_MS) != 1 || pass_receive(sock, r, sizeof(*r), &file))
		return false;
	if (file.n)
		print_file(file.fds[0]);
	passed_close(&file);
	return true;
}

/* Left behind by one that was killed? Then it goes. */
static bool is_stale(const struct place *p, pid_t pid, int err)
{
	if (err != -ECONNREFUSED && !(err == -ENOENT && kill(pid, 0) && errno == ESRCH))
		return false;
	place_drop(p);
	return true;
}

static int ask(void *arg, const struct place *p, pid_t pid)
{
	struct asking *a = arg;
	struct reply r = {false};
	int pair[2], err;
	bool stale;

	if ((a->only && a->only != pid) ||
		socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, pair))
		return 0;
	err = send_request(p, a->request, pair[1]);
	close(pair[1]);
	stale = err && is_stale(p, pid, err);
	a->asked += !stale;
	if (!err && take_reply(pair[0], &r))
		a->done += !r.failed;
	else if (!err)
		fprintf(stderr, "trapless-run: session %d does not answer\n", pid);
	else if (!stale)
		fprintf(stderr, "trapless-run: session %d cannot be asked: %s\n", pid,
			strerror(-err));
	close(pair[0]);
	return 0;
}

static bool request_of(const struct options *o, struct request *r)
{
	const char *pattern = o->enable ? o->enable : o->disable ? o->disable : "";

	r->kind = o->enable	? REQUEST_ENABLE
		  : o->disable	? REQUEST_DISABLE
		  : o->optimize ? REQUEST_OPTIMIZE
				: REQUEST_LIST;
	r->on = o->optimize && !strcmp(o->optimize, "on");
	if (o->optimize && !r->on && strcmp(o->optimize, "off")) {
		fprintf(stderr, "trapless-run: --optimize on, or --optimize off\n");
		return false;
	}
	if (strlen(pattern) >= sizeof(r->pattern)) {
		fprintf(stderr, "trapless-run: this pattern is too long\n");
		return false;
	}
	strcpy(r->pattern, pattern);
	return true;
}

int control_ask(const struct options *o)
{
	struct request r = {0};
	struct asking a = {.request = &r, .only = o->session};

	if (!request_of(o, &r))
		return 2;
	places_each(ask, &a);
	fflush(stdout);
	if (!a.asked && a.only)
		fprintf(stderr,
			"trapless-run: no session %d of yours runs: --sessions lists them\n",
			a.only);
	else if (!a.asked)
		fprintf(stderr, "trapless-run: no session of yours runs\n");
	if (r.kind == REQUEST_LIST && !a.only)
		return a.done == a.asked ? 0 : 1;
	return a.done ? 0 : 1;
}
