/* SPDX-License-Identifier: MIT */
#define _GNU_SOURCE
#include "target.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/proc.h"
#include "base/progress.h"
#include "followed.h"
#include "kernel/kernel.h"
#include "later.h"

const struct transport *transport_of(const struct session *s, const struct options *o)
{
	if (is_for_kernel(s->mod))
		return &kernel_transport;
	return o->preload ? &preload_transport : &guardian_transport;
}

int target_reach(struct target *t, const struct options *o)
{
	t->by = transport_of(t->session, o);
	if (!t->standing)
		t->standing = standing_make(t->session->mod, &t->standing_fd);
	if (t->standing)
		return t->by->attach(t, o);
	fprintf(stderr, "trapless-run: no memory for how the probes stand: %s\n", strerror(errno));
	return -1;
}

int target_attach(struct target *t, pid_t pid, struct session *s, const struct options *o)
{
	memset(t, 0, sizeof(*t));
	t->session = s;
	t->pid = pid;
	return target_reach(t, o);
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
	return target_reach(t, o);
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
	return target_reach(t, o);
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

	if (!target_reach(&t, o))
		waitpid(t.guardian, NULL, 0);
	if (!t.standing)
		return;
	standing_close(t.standing, s->mod);
	close(t.standing_fd);
	close(t.sock);
}

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

static bool say(const struct target *t, uint32_t kind, uint32_t number, bool wait)
{
	const struct message m = {.kind = kind, .number = number};

	return t->by->say(t, &m, wait);
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
		say(t, MSG_CHILD, m->number, true); /* who waits for it goes on */
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
		say(t, MSG_GO_ON, m->number, true);
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

bool target_hear(struct target *t, const struct options *o, bool block)
{
	struct message m;
	enum word word;

	while ((word = t->by->hear(t, o, &m, block)) == WORD_CAME) {
		take(t, o, &m);
		if (block)
			return true;
	}
	t->done |= word == WORD_END;
	return word != WORD_END;
}

void target_tune(struct target *t)
{
	t->why_not[0] = 0;
	t->tuning = !t->done && !t->ended && say(t, MSG_TUNE, 0, false);
}

/* One that does not keep up misses some. */
void target_sample(struct target *t, uint32_t probe)
{
	if (t->ready && !t->done)
		say(t, MSG_SAMPLE, probe, false);
}

void target_leave(struct target *t)
{
	t->leaving = true;
	if (!t->done) /* a guardian that has left already still has last words here */
		say(t, MSG_LEAVE, 0, true);
}
