/* SPDX-License-Identifier: MIT */
/*
 * process.begin, process.thread.end ...: told to the runners that want to know.
 * In a live session the thread stands still until the handler has run: nothing
 * of it comes before its begin, and at its end it can still be looked at. A
 * runner that does not answer (it is stopped) is not waited for long.
 *
 * The first thread's begin and end are its process's, and no thread's, as
 * SystemTap has it.
 */
#define _GNU_SOURCE
#include <stdlib.h>
#include <string.h>

#include "../../base/proc.h"
#include "../guardian.h"
#include "../trace/concern.h"
#include "../trace/loop.h"
#include "../trace/publish.h"
#include "../trace/restart.h"
#include "../trace/say.h"
#include "../trace/threads.h"
#include "../trace/traps.h"
#include "events.h"
#include "resolve.h"
#include "watchpoints.h"

enum { PATIENCE_MS = 1000 };

static bool is_first(const struct thread *t)
{
	return t->tid == t->tgid;
}

bool client_listens(const struct client *c)
{
	return c->events && !c->leave && !c->told;
}

static bool anybody_listens(const struct guardian *g)
{
	const struct client *c;

	for (c = g->clients; c && !client_listens(c); c = c->next)
		;
	return c;
}

/* --- standing still ----------------------------------------------------------------- */

bool event_waits(const struct client *c)
{
	return !c->slow && __atomic_load_n(&c->session->live, __ATOMIC_RELAXED);
}

void event_wait(struct guardian *g, struct client *c, struct thread *t)
{
	if (!t->untold) {
		t->untold_ms = now_ms();
		g->nuntold++;
	}
	t->untold |= 1u << c->slot;
	tell(&c->tell, MSG_WAITS, (uint32_t)t->tid, "");
}

void events_forget(struct guardian *g, struct thread *t)
{
	g->nuntold -= t->untold != 0;
	t->untold = 0;
}

bool event_keeps(const struct guardian *g, const struct thread *t)
{
	(void)g;
	return t->untold; /* events_go_on() lets it go */
}

/* Killed while it waited. */
enum verdict event_at_stop(struct guardian *g, struct thread *t)
{
	events_forget(g, t);
	return PASS;
}

/* What our stop alone has ended begins again; where a signal has come meanwhile, it has ended that. */
void call_goes_on(struct guardian *g, struct thread *t)
{
	struct machine_regs regs;

	if (t->over || regs_get(t->tid, &regs) || !call_was_cut(t, &regs) || signals_waiting(t))
		return;
	call_restart(g, t, &regs, 0);
	regs_set(t->tid, &regs);
}

static void go_on(struct guardian *g, struct thread *t)
{
	events_forget(g, t);
	if (!t->stopped || t->held)
		return;
	call_goes_on(g, t);
	thread_resume(g, t, 0);
}

void event_answered(struct guardian *g, struct client *c, pid_t tid)
{
	struct thread *t = thread_find(g, tid);
	uint32_t others = t ? t->untold & ~(1u << c->slot) : 0;

	c->slow = false;
	c->answered_ns = now_ns();
	if (!t || others == t->untold)
		return;
	if (others)
		t->untold = others;
	else
		go_on(g, t);
}

/* Those of its runners that are still to be waited for. */
static uint32_t waited_for(struct guardian *g, const struct thread *t)
{
	bool late = now_ms() - t->untold_ms > PATIENCE_MS;
	struct client *c;
	uint32_t slots = 0;

	for (c = g->clients; c; c = c->next) {
		uint32_t slot = 1u << c->slot;

		c->slow |= late && t->untold & slot;
		if (client_listens(c) && !c->slow)
			slots |= slot;
	}
	return t->untold & slots;
}

void events_go_on(struct guardian *g)
{
	struct thread *t, *next;

	for (t = g->threads; t && g->nuntold; t = next) {
		next = t->next;
		if (t->untold && !waited_for(g, t))
			go_on(g, t);
	}
}

/* --- telling ------------------------------------------------------------------------ */

static void read_name(pid_t tid, char name[16])
{
	char now[16];

	proc_name(tid, now, sizeof(now));
	if (strcmp(now, "?")) /* it has gone */
		memcpy(name, now, sizeof(now));
}

/* false: c does not want to know. */
static bool tell_one(const struct client *c, uint32_t kind, const struct who *who, const char *name)
{
	struct message m = {.kind = MSG_EVENT, .who = *who};
	bool any = false;

	memcpy(m.text, name, sizeof(((struct thread *)0)->name));
	for (m.number = 0; m.number < c->mod->nprobes; m.number++) {
		if (!c->events[m.number].wanted || c->mod->probes[m.number].kind != kind)
			continue;
		tell_send(&c->tell, &m);
		any = true;
	}
	return any;
}

/* `still`: who is to stand still for it; NULL: nobody. */
static void tell_client(struct guardian *g, struct client *c, uint32_t kind, const struct who *who,
	const char *name, struct thread *still)
{
	if (client_listens(c) && tell_one(c, kind, who, name) && still && still->stopped &&
		event_waits(c))
		event_wait(g, c, still);
}

static struct who process_of(const struct guardian *g)
{
	const uint32_t pid = (uint32_t)g->pid, own = g->ctl->own_number;

	return (struct who){pid, pid, own, own};
}

static struct who thread_of(const struct guardian *g, const struct thread *t)
{
	struct who who = process_of(g);

	who.tid = (uint32_t)t->tid;
	who.own_tid = t->number;
	return who;
}

struct message event_of(struct guardian *g, struct thread *t)
{
	struct message m = {.kind = MSG_EVENT, .who = thread_of(g, t)};

	read_name(t->tid, t->name);
	memcpy(m.text, t->name, sizeof(t->name));
	return m;
}

static void tell_thread(struct guardian *g, struct thread *t, uint32_t kind, struct thread *still)
{
	const struct who who = thread_of(g, t);
	struct client *c;

	for (c = g->clients; c; c = c->next)
		tell_client(g, c, kind, &who, t->name, still);
}

static void process_ends(struct guardian *g, struct thread *still)
{
	const struct who who = process_of(g);
	struct client *c;

	g->over = true;
	for (c = g->clients; c; c = c->next)
		tell_client(g, c, TL_TAP_PROCESS_END, &who, g->name, still);
}

/* --- what happens ------------------------------------------------------------------- */

static bool find_events(struct guardian *g, struct client *c)
{
	const struct tl_tap_probe *p = c->mod->probes;
	struct event_probe *events = calloc(c->mod->nprobes + 1, sizeof(*events));
	bool any = false;
	uint32_t i;

	for (i = 0; events && i < c->mod->nprobes; i++, p++) {
		events[i].wanted = p->kind >= TL_TAP_PROCESS_BEGIN &&
				   !(p->flags & TL_TAP_PROBE_NEVER) &&
				   (p->process == TL_NONE || image_is_there(g, c, p->process));
		any |= events[i].wanted;
	}
	if (any)
		c->events = events;
	else
		free(events);
	return events;
}

int events_begin(struct guardian *g, struct client *c)
{
	const struct who process = process_of(g);
	struct thread *t;

	if (!find_events(g, c))
		return guardian_fail(g, "out of memory");
	if (!c->events)
		return 0;
	watchpoints_look(g);
	read_name(g->pid, g->name);
	tell_client(g, c, TL_TAP_PROCESS_BEGIN, &process, g->name, thread_find(g, g->pid));
	for (t = g->threads; t; t = t->next) {
		struct who who = thread_of(g, t);

		if (t->tgid != g->pid || !thread_is_theirs(t) || t->over)
			continue;
		read_name(t->tid, t->name);
		if (!is_first(t))
			tell_client(g, c, TL_TAP_THREAD_BEGIN, &who, t->name, t);
	}
	return 0;
}

void thread_began(struct guardian *g, struct thread *t)
{
	if (t->tgid != g->pid || !anybody_listens(g))
		return;
	read_name(t->tid, t->name);
	tell_thread(g, t, TL_TAP_THREAD_BEGIN, t);
}

static bool is_last(const struct guardian *g)
{
	const struct thread *t;

	for (t = g->threads; t && (t->tgid != g->pid || t->helper || t->over); t = t->next)
		;
	return !t;
}

void thread_over(struct guardian *g, struct thread *t)
{
	if (t->over || t->helper || t->tgid != g->pid || !anybody_listens(g))
		return;
	t->over = true;
	if (!t->newborn && !is_first(t))
		tell_thread(g, t, TL_TAP_THREAD_END, t);
	if (is_last(g) && !g->over)
		process_ends(g, t);
}

void thread_exits(struct guardian *g, struct thread *t)
{
	if (!t->over && t->tgid == g->pid && anybody_listens(g))
		read_name(t->tid, is_first(t) ? g->name : t->name);
	thread_over(g, t);
}

void process_over(struct guardian *g)
{
	struct thread *t;

	for (t = g->threads; t; t = t->next)
		thread_over(g, t);
	if (!g->over && anybody_listens(g))
		process_ends(g, NULL);
}
