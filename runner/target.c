/* SPDX-License-Identifier: MIT */
#define _GNU_SOURCE
#include <dirent.h>
#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "followed.h"
#include "inherited.h"
#include "base/joining.h"
#include "later.h"
#include "machine/machine.h"
#include "patching.h"
#include "preload/preload.h"
#include "base/proc.h"
#include "program.h"
#include "base/progress.h"
#include "target.h"
#include "base/word.h"
#include "words.h"
#include "guardian/guardian.h"

/* A guardian that comes or goes is waited for. */
enum { JOIN_EVERY_MS = 20, JOIN_TRIES = 250, PATIENCE_MS = 5000 };

static int go =
	-1; /* to CMD until it is one: it waits for a byte, and sends one where it cannot be started */
static struct preload preload; /* of the one program that we start */

/* Memory of ours is its own copy of it. */
static struct client *first_client(
	struct target *t, struct session *s, const struct options *o, int sock)
{
	struct client *c = calloc(1, sizeof(*c));

	if (!c || teller_init(&c->tell, s->mod, &s->board, t->standing, sock))
		return NULL;
	c->tell.verbose = o->verbose;
	c->tell.explain = o->explain;
	c->mod = s->mod;
	c->board = s->board;
	c->ctl_fd = -1;
	c->memory_fd = s->fd;
	c->memory_size = s->size;
	c->session = s->view.session;
	c->traps_only = o->traps_only;
	c->follow = !o->no_follow;
	return c;
}

static void be_guardian(struct target *t, struct session *s, const struct options *o, int sock)
{
	struct client *first = first_client(t, s, o, sock);
	static struct guardian g;

	g.pid = t->pid;
	g.mem = g.door = -1;
	g.patching = patching_chosen();
	g.heir = t->heir;
	g.parking = t->heir ? 0 : t->parking;
	g.parker = t->from;
	g.release = t->leaving;
	g.fresh = t->fresh && g.parking;
	g.launched = t->launched && !t->heir;
	_exit(first ? guardian_run(&g, first) : 1);
}

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

static int start_guardian(struct target *t, struct session *s, const struct options *o)
{
	int pair[2];

	if (!t->standing)
		t->standing = standing_make(s->mod, &t->standing_fd);
	if (!t->standing || socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, pair)) {
		fprintf(stderr, "trapless-run: cannot start a guardian: %s\n", strerror(errno));
		return -1;
	}
	fflush(NULL);
	t->guardian = fork();
	if (t->guardian < 0) {
		close(pair[0]);
		close(pair[1]);
		t->sock = -1;
		fprintf(stderr, "trapless-run: cannot start a guardian: %s\n", strerror(errno));
		return -1;
	}
	if (!t->guardian) {
		close(pair[0]);
		close_sockets_but(pair[1]);
		if (s->out && s->out != stdout)
			close(fileno(s->out));
		if (o->preload)
			_exit(preload_attend(&preload, s, o, pair[1], t->pid, t->standing));
		be_guardian(t, s, o, pair[1]);
	}
	close(pair[1]);
	t->sock = pair[0];
	return 0;
}

int target_attach(struct target *t, pid_t pid, struct session *s, const struct options *o)
{
	memset(t, 0, sizeof(*t));
	t->session = s;
	t->pid = pid;
	return start_guardian(t, s, o);
}

int target_follow(
	struct target *t, const struct parked *p, struct session *s, const struct options *o)
{
	*t = (struct target){.session = s,
		.pid = p->pid,
		.from = p->from,
		.followed = true,
		.quiet = o->verbose < 2, /* it has what it was born with */
		.fresh = p->fresh,
		.lasts = p->lasts,
		.parking = p->at,
		.standing = t->standing, /* of one that had this place */
		.standing_fd = t->standing_fd};
	return start_guardian(t, s, o);
}

int target_find(struct target *t, pid_t pid, const char *path, bool quiet, struct session *s,
	const struct options *o)
{
	*t = (struct target){.session = s,
		.pid = pid,
		.followed = true,
		.found = path,
		.quiet = quiet && o->verbose < 2,
		.strange = !command_chooser(pid), /* it may soon be gone */
		.standing = t->standing,
		.standing_fd = t->standing_fd};
	return start_guardian(t, s, o);
}

void target_release(const struct parked *p, struct session *s, const struct options *o)
{
	struct target t = {.session = s,
		.pid = p->pid,
		.from = p->from,
		.parking = p->at,
		.fresh = p->fresh,
		.followed = true,
		.leaving = true};

	if (!start_guardian(&t, s, o))
		waitpid(t.guardian, NULL, 0);
	if (t.standing)
		standing_close(t.standing, s->mod);
	close(t.standing_fd);
	close(t.sock);
}

/* --- the guardian of another session ------------------------------------------------ */

/* Killed, it may still have threads. */
static bool is_ending(pid_t pid)
{
	unsigned living, ending;

	proc_threads(pid, &living, &ending);
	return !living;
}

/* One of a target's children that cannot be followed, often because it has ended, is no failure of the session. */
static void say_failure(struct target *t, const struct options *o, const char *why)
{
	if (t->found)
		t->refused = !is_ending(t->pid);
	if (t->refused && later_again(t->pid))
		return;
	if (!t->followed)
		fprintf(stderr, "trapless-run: %s\n", why);
	else if (t->refused && later_refused() && !o->no_warnings)
		fprintf(stderr, "WARNING: a process of %s is not traced: %s\n", t->found, why);
	else if (t->found && o->verbose)
		fprintf(stderr, "  process %d is not traced: %s\n", t->pid, why);
	else if (t->found)
		return;
	else if (o->verbose)
		fprintf(stderr, "  child process %d is not followed: %s\n", t->pid, why);
}

/* Whoever has our target comes or goes: by a guardian of our own, then. */
static void try_again(struct target *t, const struct options *o)
{
	const struct timespec nap = {0, JOIN_EVERY_MS * 1000000L};

	t->done = t->leaving;
	if (t->done)
		return;
	nanosleep(&nap, NULL);
	if (++t->tries <= JOIN_TRIES && !start_guardian(t, t->session, o))
		return;
	say_failure(t, o, t->taken);
	t->failed = !t->followed;
	t->done = true;
}

/* Another session's guardian has our target: it serves us, too; or it is just coming or going. */
static void go_to(struct target *t, const struct options *o, pid_t guardian)
{
	close(t->sock);
	waitpid(t->guardian, NULL, 0);
	t->sock = guardian_join(t->session, t->pid, t->standing_fd, o);
	t->joined = t->sock >= 0;
	t->guardian = t->joined ? guardian : 0;
	if (!t->joined)
		try_again(t, o);
}

static void be_taken(struct target *t, const struct options *o, const struct message *m)
{
	snprintf(t->taken, sizeof(t->taken), "%.255s", m->text);
	if (!t->heir && !t->leaving) {
		go_to(t, o, (pid_t)m->number);
		return;
	}
	if (t->heir)
		fprintf(stderr, "trapless-run: another session takes them out\n");
	t->done = true;
}

static void not_started(int sock, int status)
{
	send(sock, "", 1, MSG_NOSIGNAL);
	_exit(status);
}

static void be_command(const struct options *o, int sock)
{
	char **argv = o->words ? o->words : words_split(o->command), byte;

	prctl(PR_SET_PTRACER, PR_SET_PTRACER_ANY, 0, 0,
		0); /* until the exec: lets the guardian in under Yama */
	if (read(sock, &byte, 1) != 1)
		_exit(127); /* the session failed before it began */
	inherited_restore();
	if (o->preload && preload_enter(&preload)) {
		fprintf(stderr, "trapless-run: cannot hand the agent over: %s\n", strerror(errno));
		not_started(sock, 126);
	}
	if (argv) {
		execvp(argv[0], argv);
		fprintf(stderr, "trapless-run: cannot start %s: %s\n", argv[0], strerror(errno));
	} else {
		execl("/bin/sh", "sh", "-c", o->command, (char *)NULL);
		fprintf(stderr, "trapless-run: cannot start /bin/sh: %s\n", strerror(errno));
	}
	not_started(sock, errno == ENOENT ? 127 : 126);
}

/* The kernel gives a program no rights that its tracer does not have. */
static void warn_of_rights(const struct options *o)
{
	char path[512];

	if (!o->no_warnings && geteuid() && program_of(o, path, sizeof(path)) &&
		program_gains_rights(path))
		fprintf(stderr,
			"WARNING: %s runs without the rights that its file gives (setuid, setgid "
			"or "
			"capabilities), since an ordinary user traces it; next: start it alone, "
			"and "
			"trace it as root with -x PID\n",
			path);
}

static bool has_program(const struct module *mod)
{
	uint32_t i;

	for (i = 0; i < mod->nimages && !(mod->images[i].flags & TL_TAP_IMAGE_PROGRAM); i++)
		;
	return i < mod->nimages;
}

/* CMD itself is what would be entered: nothing is sought that it may start. */
static bool is_refused(const struct module *mod, const struct options *o)
{
	char path[512];

	if (has_program(mod) || !program_of(o, path, sizeof(path)) || !program_is_foreign(path))
		return false;
	fprintf(stderr,
		"trapless-run: %s is a %s program, or one for another machine: only %s is "
		"supported yet; it was not started\n",
		path, WORD_BITS == 64 ? "32-bit" : "64-bit", machine.name);
	return true;
}

int target_launch(struct target *t, struct session *s, const struct options *o)
{
	int pair[2];

	memset(t, 0, sizeof(*t));
	t->session = s;
	t->launched = true;
	if (o->preload && preload_prepare(&preload, s, o))
		return -1;
	if (!o->preload && is_refused(s->mod, o))
		return -1;
	if (!o->preload)
		warn_of_rights(o);
	if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, pair)) {
		fprintf(stderr, "trapless-run: %s\n", strerror(errno));
		return -1;
	}
	fflush(NULL);
	t->pid = fork();
	if (t->pid < 0) {
		fprintf(stderr, "trapless-run: cannot start the program: %s\n", strerror(errno));
		return -1;
	}
	if (!t->pid) {
		close(pair[0]);
		be_command(o, pair[1]);
	}
	close(pair[1]);
	go = pair[0];
	return start_guardian(t, s, o);
}

void target_go(struct target *t)
{
	(void)t;
	if (send(go, "g", 1, MSG_NOSIGNAL) != 1)
		fprintf(stderr, "trapless-run: the program did not start\n");
}

bool target_never_started(void)
{
	char byte;

	return go >= 0 && recv(go, &byte, 1, MSG_DONTWAIT) == 1;
}

/* Who waits for it goes on. */
static void answer(const struct target *t, uint32_t kind, uint32_t number)
{
	const struct message m = {.kind = kind, .number = number};

	send(t->sock, &m, sizeof(m), MSG_NOSIGNAL);
}

static void take(struct target *t, const struct options *o, struct message *m)
{
	m->text[sizeof(m->text) - 1] = 0;
	if (m->kind != MSG_PROGRESS)
		progress_clear();
	switch (m->kind) {
	case MSG_PROGRESS:
		if (!t->followed)
			progress_show("placing probes", m->number);
		break;
	case MSG_READY:
		t->ready = true;
		t->armed = m->number;
		if (o->verbose && (t->launched || t->fresh || t->found) && m->number)
			fprintf(stderr, "trapless-run: %u probes armed in process %d\n", m->number,
				t->pid);
		if (t->found)
			later_ready(t);
		break;
	case MSG_FAILED:
		/* One of several that ends while we come is no failure. */
		t->ended = (o->npids > 1 || o->later) && proc_ended(t->pid);
		t->failed = !t->ended && !t->followed;
		t->ended |= t->followed;
		say_failure(t, o, m->text[0] ? m->text : "the session failed");
		break;
	case MSG_NOTE:
		if (o->verbose && !t->quiet)
			fprintf(stderr, "  %s\n", m->text);
		break;
	case MSG_EXPLAIN:
		if (t->quiet)
			break;
		fprintf(stderr, "%s\n", m->text);
		break;
	case MSG_WARN:
		if (t->quiet)
			break;
		t->failed |= m->number != 0 && (!t->followed || t->found);
		if (m->number || !o->no_warnings) /* a refused probe is an error */
			fprintf(stderr, "%s: %s\n", m->number ? "ERROR" : "WARNING", m->text);
		break;
	case MSG_UNSEEN:
		followed_unseen(m->text, o);
		break;
	case MSG_CHILD:
	case MSG_PROGRAM:
		followed_take((pid_t)m->number, m->at, m->kind == MSG_PROGRAM, t->guardian);
		answer(t, MSG_CHILD, m->number);
		break;
	case MSG_TAKEN:
		be_taken(t, o, m);
		break;
	case MSG_GONE:
		t->ended = true;
		break;
	case MSG_COUNTS:
		t->counts = *m;
		t->counted = true;
		break;
	case MSG_EVENT:
		event_take(t->session, m);
		break;
	case MSG_WAITS:
		answer(t, MSG_GO_ON, m->number);
		break;
	case MSG_TUNED:
		t->tuning = false;
		snprintf(t->why_not, sizeof(t->why_not), "%.255s", m->text);
		break;
	case MSG_DONE:
		t->done = true;
		t->kept = m->number;
		break;
	}
}

/* Of a child, or of another session's. */
static void await_end(pid_t pid)
{
	const struct timespec nap = {0, 1000000};
	int ms;

	for (ms = 0; pid > 0 && !proc_ended(pid) && ms < PATIENCE_MS; ms++)
		nanosleep(&nap, NULL);
	waitpid(pid, NULL, WNOHANG);
}

/*
 * The other end is gone without a last word. Another guardian takes its place until the target is clean: breakpoints
 * that nobody serves kill whoever runs into them. true: that one speaks to us now.
 */
static bool orphaned(struct target *t, const struct options *o)
{
	if (t->joined && !t->ready && !t->failed) { /* it was leaving */
		close(t->sock);
		t->sock = -1;
		t->joined = false;
		try_again(t, o);
		return !t->done;
	}
	t->failed = true;
	if (o->preload) {
		fprintf(stderr,
			"trapless-run: the attendant of process %d was killed: the agent takes its "
			"probes away by itself\n",
			t->pid);
		return false;
	}
	if (!t->heir) {
		t->heir = true;
		close(t->sock);
		await_end(t->guardian); /* its socket ends before its tracing does */
		fprintf(stderr,
			"trapless-run: the guardian of process %d was killed: another one takes "
			"the probes out\n",
			t->pid);
		if (!start_guardian(t, t->session, o))
			return true;
	}
	fprintf(stderr,
		"trapless-run: the guardian of process %d was killed: its probes stay in, silent; "
		"attach to it again to clean up\n",
		t->pid);
	return false;
}

bool target_hear(struct target *t, const struct options *o, bool block)
{
	struct message m;

	for (;;) {
		ssize_t n = recv(t->sock, &m, sizeof(m), block ? 0 : MSG_DONTWAIT);

		if (n < 0 && errno == EINTR)
			return true;
		if (n < 0 &&
			errno ==
				ECONNRESET) /* it left without reading our last word; its own still come */
			continue;
		if (n == (ssize_t)sizeof(m)) {
			take(t, o, &m);
			if (block)
				return true;
			continue;
		}
		if (n < 0 && errno == EAGAIN)
			return true;
		if (!t->done && orphaned(t, o))
			return true;
		t->done = true;
		return false;
	}
}

void target_tune(struct target *t)
{
	struct message m = {.kind = MSG_TUNE};

	t->why_not[0] = 0;
	t->tuning = !t->done && !t->ended &&
		    send(t->sock, &m, sizeof(m), MSG_NOSIGNAL | MSG_DONTWAIT) == sizeof(m);
}

/* One that does not keep up misses some. */
void target_sample(struct target *t, uint32_t probe)
{
	const struct message m = {.kind = MSG_SAMPLE, .number = probe};

	if (t->ready && !t->done)
		send(t->sock, &m, sizeof(m), MSG_NOSIGNAL | MSG_DONTWAIT);
}

void target_leave(struct target *t)
{
	struct message m = {.kind = MSG_LEAVE};

	t->leaving = true;
	if (!t->done) /* a guardian that has left already still has last words here */
		send(t->sock, &m, sizeof(m), MSG_NOSIGNAL);
}
