/* SPDX-License-Identifier: MIT */
/*
 * process.begin, process.thread.end, timer.profile ...: a guardian tells of
 * them, and the handler runs here, on our own block, which has the thread's
 * names meanwhile.
 * A thread that waits for that goes on at our answer.
 */
#define _GNU_SOURCE
#include <stdlib.h>
#include <string.h>

#include "raw.h"
#include "session.h"

enum { DRAIN_EVERY = 16 }; /* handlers: our ring is to hold what so many print */

struct events {
	size_t n, max;
	bool begun;
	struct event {
		uint32_t probe;
		struct who who;
		char name[16];
		struct tl_regs regs;
	} * list;
};

static struct events *events_of(struct session *s)
{
	if (!s->early)
		s->early = calloc(1, sizeof(*s->early));
	return s->early;
}

static void keep(struct events *k, const struct event *e)
{
	if (k->n == k->max) {
		size_t max = k->max ? 2 * k->max : 64;
		void *list = realloc(k->list, max * sizeof(*k->list));

		if (!list)
			return;
		k->list = list;
		k->max = max;
	}
	k->list[k->n++] = *e;
}

static void run(struct session *s, struct event *e)
{
	static unsigned runs;
	struct tl_block *b = s->view.own, own = *b;

	if (e->probe >= s->mod->nprobes || session_wants_exit(s))
		return;
	b->tid = e->who.own_tid;
	b->pid = e->who.own_pid;
	memcpy(b->comm, e->name, sizeof(b->comm));
	s->acting = e->who;
	raw_act(s);
	session_run_one(s, e->probe, e->regs.ip ? &e->regs : NULL);
	memset(&s->acting, 0, sizeof(s->acting));
	b->tid = own.tid;
	b->pid = own.pid;
	memcpy(b->comm, own.comm, sizeof(b->comm));
	raw_act(s);
	if (++runs % DRAIN_EVERY == 0)
		drain(s, false);
}

void event_take(struct session *s, const struct message *m)
{
	struct event e = {.probe = m->number, .who = m->who, .regs = m->regs};
	struct events *k = events_of(s);

	snprintf(e.name, sizeof(e.name), "%.15s", m->text);
	if (!k)
		return;
	if (!k->begun)
		keep(k, &e);
	else if (s->view.session->live) /* not behind the session's end */
		run(s, &e);
}

void events_run_early(struct session *s)
{
	struct events *k = events_of(s);
	size_t i;

	if (!k)
		return;
	k->begun = true;
	for (i = 0; i < k->n; i++)
		run(s, &k->list[i]);
	free(k->list);
	k->list = NULL;
	k->n = k->max = 0;
}
