/* SPDX-License-Identifier: MIT */
/*
 * A guardian of our own, or that of another session which has the target
 * already: then it serves us, too, once we have joined it.
 */
#define _GNU_SOURCE
#include <stdio.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "../base/joining.h"
#include "../base/proc.h"
#include "../base/progress.h"
#include "../base/word.h"
#include "../guardian/guardian.h"
#include "../machine/machine.h"
#include "../patching.h"
#include "../program.h"
#include "../target.h"
#include "socket.h"

/* A guardian that comes or goes is waited for. */
enum { JOIN_EVERY_MS = 20, JOIN_TRIES = 250, PATIENCE_MS = 5000 };

/* --- what we start ---------------------------------------------------------------------- */

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

static bool has_program(const struct tl_tap *mod)
{
	uint32_t i;

	for (i = 0; i < mod->nimages && !(mod->images[i].flags & TL_TAP_IMAGE_PROGRAM); i++)
		;
	return i < mod->nimages;
}

/* CMD itself is what would be entered: nothing is sought that it may start. */
static bool is_refused(const struct tl_tap *mod, const struct options *o)
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

static int prepare(struct session *s, const struct options *o)
{
	if (is_refused(s->mod, o))
		return -1;
	warn_of_rights(o);
	return 0;
}

/* --- our own ------------------------------------------------------------------------ */

/* Memory of ours is its own copy of it. */
static struct client *first_client(const struct target *t, const struct options *o, int sock)
{
	const struct session *s = t->session;
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

static int be_guardian(struct target *t, const struct options *o, int sock)
{
	struct client *first = first_client(t, o, sock);
	static struct guardian g;

	g.pid = t->pid;
	g.mem = g.door = -1;
	g.patching = patching_chosen();
	g.heir = t->heir;
	g.parking = t->heir ? 0 : t->parking;
	g.parker = t->from;
	g.release = t->leaving && !t->heir;
	g.fresh = t->fresh && g.parking;
	g.launched = t->launched && !t->heir;
	return first ? guardian_run(&g, first) : 1;
}

static int attach(struct target *t, const struct options *o)
{
	return socket_attach(t, o, be_guardian);
}

/* --- another session's ---------------------------------------------------------------- */

/* Whoever has our target comes or goes: by a guardian of our own, then. WORD_CAME: too often. */
static enum word try_again(struct target *t, const struct options *o, struct message *m)
{
	const struct timespec nap = {0, JOIN_EVERY_MS * 1000000L};

	t->done = t->leaving;
	if (t->done)
		return WORD_END;
	nanosleep(&nap, NULL);
	if (++t->tries <= JOIN_TRIES && !attach(t, o))
		return WORD_NONE;
	*m = (struct message){.kind = MSG_FAILED};
	snprintf(m->text, sizeof(m->text), "%s", t->taken);
	t->done = true;
	return WORD_CAME;
}

static enum word go_to(struct target *t, const struct options *o, struct message *m, pid_t guardian)
{
	close(t->sock);
	waitpid(t->guardian, NULL, 0);
	t->sock = guardian_join(t->session, t->pid, t->standing_fd, o);
	t->joined = t->sock >= 0;
	t->guardian = t->joined ? guardian : 0;
	return t->joined ? WORD_NONE : try_again(t, o, m);
}

/* MSG_TAKEN */
static enum word be_taken(struct target *t, const struct options *o, struct message *m)
{
	progress_clear();
	snprintf(t->taken, sizeof(t->taken), "%.255s", m->text);
	if (!t->heir && !t->leaving)
		return go_to(t, o, m, (pid_t)m->number);
	if (t->heir)
		fprintf(stderr, "trapless-run: another session takes them out\n");
	t->done = true;
	return WORD_NONE;
}

/* --- killed ----------------------------------------------------------------------------- */

/* Of a child, or of another session's. */
static void await_end(pid_t pid)
{
	const struct timespec nap = {0, 1000000};
	int ms;

	for (ms = 0; pid > 0 && !proc_ended(pid) && ms < PATIENCE_MS; ms++)
		nanosleep(&nap, NULL);
	waitpid(pid, NULL, WNOHANG);
}

/* Breakpoints that nobody serves kill whoever runs into them: another guardian comes until the target is clean. */
static enum word be_succeeded(struct target *t, const struct options *o)
{
	t->failed = true;
	if (!t->heir) {
		t->heir = true;
		close(t->sock);
		await_end(t->guardian); /* its socket ends before its tracing does */
		fprintf(stderr,
			"trapless-run: the guardian of process %d was killed: another one takes "
			"the probes out\n",
			t->pid);
		if (!attach(t, o))
			return WORD_NONE;
	}
	fprintf(stderr,
		"trapless-run: the guardian of process %d was killed: its probes stay in, silent; "
		"attach to it again to clean up\n",
		t->pid);
	return WORD_END;
}

/* The other end is gone without a last word. */
static enum word orphaned(struct target *t, const struct options *o, struct message *m)
{
	if (!t->joined || t->ready || t->failed)
		return be_succeeded(t, o);
	close(t->sock); /* it was leaving */
	t->sock = -1;
	t->joined = false;
	return try_again(t, o, m);
}

static enum word hear(struct target *t, const struct options *o, struct message *m, bool block)
{
	enum word word = socket_hear(t, m, block);

	if (word == WORD_END && !t->done)
		return orphaned(t, o, m);
	return word == WORD_CAME && m->kind == MSG_TAKEN ? be_taken(t, o, m) : word;
}

const struct transport guardian_transport = {
	.prepare = prepare,
	.attach = attach,
	.hear = hear,
	.say = socket_say,
};
