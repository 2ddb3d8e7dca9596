/* SPDX-License-Identifier: MIT */
/* `trapless-run --sessions` and its like: ask the sessions that run. */
#define _GNU_SOURCE
#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

#include "../base/clock.h"
#include "../base/passing.h"
#include "../base/proc.h"
#include "control.h"

enum { PATIENCE_MS = 30000, LOOK_MS = 100 };

/* A session that can be asked. */
struct found {
	struct place place;
	pid_t pid;
	struct timespec since;
	int sock; /* for its answer; -1: it was not asked */
};

struct asking {
	const struct request *request;
	pid_t only; /* 0: all */
	struct found *sessions;
	int n, done, failed;
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
static bool is_stale(const struct place *p, pid_t pid)
{
	int fd = socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC, 0), err = 0;

	if (connect(fd, (const struct sockaddr *)&p->socket, sizeof(p->socket)))
		err = errno;
	close(fd);
	if (err != ECONNREFUSED && !(err == ENOENT && kill(pid, 0) && errno == ESRCH))
		return false;
	place_drop(p);
	return true;
}

static int collect(void *arg, const struct place *p, pid_t pid)
{
	struct asking *a = arg;
	struct found *more;
	struct stat st;

	if ((a->only && a->only != pid) || is_stale(p, pid) || lstat(p->dir, &st))
		return 0;
	more = realloc(a->sessions, ((size_t)a->n + 1) * sizeof(*more));
	if (!more)
		return -1;
	a->sessions = more;
	more[a->n++] = (struct found){*p, pid, st.st_mtim, -1};
	return 0;
}

/* The oldest first. */
static int by_age(const void *x, const void *y)
{
	const struct found *a = x, *b = y;

	if (a->since.tv_sec != b->since.tv_sec)
		return a->since.tv_sec < b->since.tv_sec ? -1 : 1;
	if (a->since.tv_nsec != b->since.tv_nsec)
		return a->since.tv_nsec < b->since.tv_nsec ? -1 : 1;
	return a->pid - b->pid;
}

/* One that has ended meanwhile is not missed. */
static void fail(struct asking *a, const struct found *f, const char *what)
{
	if (proc_ended(f->pid))
		return;
	fprintf(stderr, "trapless-run: session %d %s\n", f->pid, what);
	a->failed++;
}

/* It has its place, but no socket yet. */
static void tell_arming(struct asking *a, const struct found *f)
{
	if (a->request->kind != REQUEST_LIST) {
		fail(a, f, "is arming its probes: ask again once they are armed");
		return;
	}
	printf("session %d: its probes are being armed\n", f->pid);
	a->done++;
}

static void ask(struct asking *a, struct found *f)
{
	char what[160];
	int pair[2], err;

	if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, pair))
		return;
	err = send_request(&f->place, a->request, pair[1]);
	close(pair[1]);
	f->sock = pair[0];
	if (!err)
		return;
	close(f->sock);
	f->sock = -1;
	if (err == -ENOENT && !access(f->place.dir, F_OK)) {
		tell_arming(a, f);
		return;
	}
	snprintf(what, sizeof(what), "cannot be asked: %s", strerror(-err));
	fail(a, f, what);
}

static bool is_stopped(pid_t pid)
{
	return proc_state(pid) == 'T';
}

static bool answers(const struct found *f, double end)
{
	struct pollfd p = {.fd = f->sock, .events = POLLIN};

	while (!poll(&p, 1, LOOK_MS) && !is_stopped(f->pid) && now_ms() < end)
		;
	return p.revents;
}

static void take_reply(struct asking *a, const struct found *f, double end)
{
	struct reply r = {false};
	struct passed file;

	if (!answers(f, end) || pass_receive(f->sock, &r, sizeof(r), &file)) {
		fail(a, f,
			is_stopped(f->pid) ? "does not answer: it is stopped (SIGSTOP)"
					   : "does not answer");
		return;
	}
	if (file.n)
		print_file(file.fds[0]);
	passed_close(&file);
	a->done += !r.failed;
}

/* All are asked before any is listened to: one that does not answer costs the others no time. */
static void ask_all(struct asking *a)
{
	double end = now_ms() + PATIENCE_MS;
	int i;

	for (i = 0; i < a->n; i++)
		ask(a, &a->sessions[i]);
	for (i = 0; i < a->n; i++) {
		if (a->sessions[i].sock < 0)
			continue;
		take_reply(a, &a->sessions[i], end);
		close(a->sessions[i].sock);
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

/* What is changed is somebody's measurement: of several sessions one is named. */
static bool is_clear(const struct asking *a, const struct options *o)
{
	if (!a->n && a->only)
		fprintf(stderr,
			"trapless-run: no session %d of yours runs: --sessions lists them\n",
			a->only);
	else if (!a->n)
		fprintf(stderr, "trapless-run: no session of yours runs\n");
	else if (a->n > 1 && a->request->kind != REQUEST_LIST && !o->session_word)
		fprintf(stderr,
			"trapless-run: %d sessions run: say which one with --session PID, or "
			"--session all; --sessions lists them\n",
			a->n);
	else
		return true;
	return false;
}

int control_ask(const struct options *o)
{
	struct request r = {0};
	struct asking a = {.request = &r, .only = o->session};

	if (!request_of(o, &r))
		return 2;
	places_each(collect, &a);
	if (a.n)
		qsort(a.sessions, (size_t)a.n, sizeof(*a.sessions), by_age);
	if (is_clear(&a, o))
		ask_all(&a);
	free(a.sessions);
	fflush(stdout);
	if (r.kind == REQUEST_LIST && !a.only)
		return a.failed ? 1 : 0;
	return a.done ? 0 : 1;
}
