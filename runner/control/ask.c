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

#include "../clock.h"
#include "../passing.h"
#include "../proc.h"
#include "control.h"

enum { PATIENCE_MS = 10000, LOOK_MS = 100 };

struct asked {
	struct asked *next;
	pid_t pid;
	int sock; /* for its answer */
};

struct asking {
	const struct request *request;
	pid_t only; /* 0: all */
	struct asked *list, **end;
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

/* Left behind by one that was killed? Then it goes. */
static bool is_stale(const struct place *p, pid_t pid, int err)
{
	if (err != -ECONNREFUSED && !(err == -ENOENT && kill(pid, 0) && errno == ESRCH))
		return false;
	place_drop(p);
	return true;
}

static void expect_answer(struct asking *a, pid_t pid, int sock)
{
	struct asked *new = malloc(sizeof(*new));

	if (!new) {
		close(sock);
		return;
	}
	*new = (struct asked){.pid = pid, .sock = sock};
	*a->end = new;
	a->end = &new->next;
}

static int ask(void *arg, const struct place *p, pid_t pid)
{
	struct asking *a = arg;
	int pair[2], err;

	if ((a->only && a->only != pid) ||
		socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, pair))
		return 0;
	err = send_request(p, a->request, pair[1]);
	close(pair[1]);
	if (!err) {
		a->asked++;
		expect_answer(a, pid, pair[0]);
		return 0;
	}
	close(pair[0]);
	if (is_stale(p, pid, err))
		return 0;
	a->asked++;
	fprintf(stderr, "trapless-run: session %d cannot be asked: %s\n", pid, strerror(-err));
	return 0;
}

static bool is_stopped(pid_t pid)
{
	return proc_state(pid) == 'T';
}

static bool answers(const struct asked *s, double end)
{
	struct pollfd p = {.fd = s->sock, .events = POLLIN};

	while (!poll(&p, 1, LOOK_MS) && !is_stopped(s->pid) && now_ms() < end)
		;
	return p.revents;
}

/* Did it do what it was asked to? */
static bool take_reply(const struct asked *s, double end)
{
	struct reply r = {false};
	struct passed file;

	if (!answers(s, end) || pass_receive(s->sock, &r, sizeof(r), &file)) {
		fprintf(stderr, "trapless-run: session %d does not answer%s\n", s->pid,
			is_stopped(s->pid) ? ": it is stopped (SIGSTOP)" : "");
		return false;
	}
	if (file.n)
		print_file(file.fds[0]);
	passed_close(&file);
	return !r.failed;
}

/* All have been asked by now: one that does not answer costs the others no time. */
static void take_replies(struct asking *a)
{
	double end = now_ms() + PATIENCE_MS;
	struct asked *s;

	while ((s = a->list)) {
		a->done += take_reply(s, end);
		a->list = s->next;
		close(s->sock);
		free(s);
	}
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
	struct asking a = {.request = &r, .only = o->session, .end = &a.list};

	if (!request_of(o, &r))
		return 2;
	places_each(ask, &a);
	take_replies(&a);
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
