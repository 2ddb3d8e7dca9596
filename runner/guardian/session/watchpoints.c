/* SPDX-License-Identifier: MIT */
/*
 * process.data: watchpoints in the processor's debug registers, of which each thread has its own values.
 * A thread stops behind the instruction that has written (or read) there, and stands still until the handler has run,
 * as at any event. What the kernel writes for a system call is not seen.
 *
 * Values outlive their tracer: whoever takes them away must do so in all threads, before anybody is let go of.
 */
#define _GNU_SOURCE
#include <errno.h>
#include <signal.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>

#include "../../base/proc.h"
#include "../guardian.h"
#include "../mend/resent.h"
#include "../mend/trapmend.h"
#include "../trace/concern.h"
#include "../trace/maps.h"
#include "../trace/ours.h"
#include "../trace/say.h"
#include "../trace/stop.h"
#include "../trace/traps.h"
#include "events.h"
#include "resolve.h"
#include "watchpoints.h"

/* --- which registers ------------------------------------------------------------------------ */

static enum watching kind_of(const struct event_probe *e)
{
	return e->reads ? WATCH_ACCESSES : WATCH_WRITES;
}

/* Lengths are 1, 2, 4 and 8, at such an address. */
static uint64_t piece_at(uint64_t addr, uint64_t left)
{
	uint64_t len = WATCH_LONGEST;

	while (len > left || addr % len)
		len /= 2;
	return len;
}

static struct watchpoint *register_for(struct watchpoint plan[], const struct watchpoint *want)
{
	struct watchpoint *w, *spare = NULL;

	for (w = plan; w < plan + WATCHPOINTS; w++) {
		if (w->addr == want->addr && w->len == want->len && w->kind == want->kind)
			return w;
		if (!w->len)
			spare = w; /* the first one may stand at the program's entry: see launch.c */
	}
	return spare;
}

/* All of a probe's memory, or nothing of it. */
static bool plan_probe(struct watchpoint plan[], const struct event_probe *e)
{
	struct watchpoint with[WATCHPOINTS], want, *w;
	uint64_t done;

	memcpy(with, plan, sizeof(with));
	for (done = 0; done < e->size; done += want.len) {
		want = (struct watchpoint){
			e->addr + done, piece_at(e->addr + done, e->size - done), kind_of(e)};
		w = register_for(with, &want);
		if (!w)
			return false;
		*w = want;
	}
	memcpy(plan, with, sizeof(with));
	return true;
}

/* What those that listen want; `refused`: one of c's for which no register was left. */
static void plan_all(
	struct guardian *g, struct watchpoint plan[], const struct client *c, uint32_t *refused)
{
	const struct client *other;
	uint32_t i;

	memset(plan, 0, WATCHPOINTS * sizeof(*plan));
	for (other = g->clients; other; other = other->next) {
		for (i = 0; client_listens(other) && i < other->mod->nprobes; i++) {
			if (other->events[i].size && !plan_probe(plan, &other->events[i]) &&
				other == c)
				*refused = i;
		}
	}
}

/* --- into the threads --------------------------------------------------------------------- */

/* Until the program's entry is reached its first thread has a breakpoint there in the first register. */
static int set_all(const struct guardian *g, const struct thread *t, const struct watchpoint plan[])
{
	struct watchpoint all[WATCHPOINTS];

	memcpy(all, plan, sizeof(all));
	if (g->entry && t->tid == g->pid)
		all[0] = (struct watchpoint){g->entry, 1, WATCH_EXECUTION};
	return watch_set(t->tid, all);
}

static bool any_of(const struct watchpoint plan[])
{
	int i;

	for (i = 0; i < WATCHPOINTS && !plan[i].len; i++)
		;
	return i < WATCHPOINTS;
}

int entry_set(const struct guardian *g, const struct thread *t)
{
	watch_hits_forget(t->tid); /* that it was there is no news any more */
	return set_all(g, t, g->watchpoints);
}

/* A stopped thread gets what stands now. */
static void renew(struct guardian *g, struct thread *t)
{
	int ret = set_all(g, t, g->watchpoints);

	if (ret && ret != -ESRCH && !g->watchpoints_error)
		g->watchpoints_error = -ret;
	t->registers = g->registers;
	t->kept.runs = false; /* of what stood there for that, nothing is left */
}

void watchpoints_inherit(struct guardian *g, struct thread *t)
{
	if (g->watchpoints_stand)
		renew(g, t);
	t->registers = g->registers;
}

static bool is_stale(const struct guardian *g, const struct thread *t)
{
	return t->registers != g->registers && t->tgid == g->pid && thread_is_theirs(t);
}

enum verdict watchpoints_at_stop(struct guardian *g, struct thread *t)
{
	if (is_stale(g, t))
		renew(g, t);
	return PASS;
}

static struct thread *next_stale(const struct guardian *g)
{
	struct thread *t;

	for (t = g->threads; t && !(is_stale(g, t) && t->tried != g->renewals); t = t->next)
		;
	return t;
}

/* A parent that waits for its vfork child stops when that is done; whoever stops is renewed as it does. */
static bool comes_soon(const struct thread *t)
{
	char state = proc_state(t->tid);

	return state && !strchr("DZX", state);
}

/* One after the other. How many threads have other values yet. */
static int renew_all(struct guardian *g)
{
	struct thread *t;
	int n = 0;

	g->renewals++;
	while (!target_ended(g) && (t = next_stale(g))) {
		t->tried = g->renewals;
		if (t->stopped)
			renew(g, t);
		else if (comes_soon(t))
			stop_thread(g, t);
	}
	for (t = g->threads; t; t = t->next)
		n += is_stale(g, t) && proc_state(t->tid) != 'Z';
	return n;
}

/* How many threads have other values yet. */
static int install(struct guardian *g, const struct watchpoint plan[])
{
	memcpy(g->watchpoints, plan, sizeof(g->watchpoints));
	g->watchpoints_stand = any_of(plan);
	g->watchpoints_known |= g->watchpoints_stand;
	g->registers++;
	return renew_all(g);
}

/* --- where they are to stand ----------------------------------------------------------------- */

/* true: it is known by now, or has moved. */
static bool resolve(struct guardian *g, const struct client *c, uint32_t probe)
{
	const struct tl_tap_probe *p = &c->mod->probes[probe];
	struct event_probe *e = &c->events[probe];
	struct event_probe before = *e;
	uint64_t bias = 0;

	e->size = p->image == TL_NONE || image_bias(g, c, p->image, &bias) ? (uint64_t)p->arg : 0;
	e->addr = p->addr + bias;
	e->reads = p->flags & TL_TAP_PROBE_READS;
	return e->size != before.size || e->addr != before.addr;
}

static bool is_watch(const struct client *c, uint32_t probe)
{
	return c->mod->probes[probe].kind == TL_TAP_WATCH && c->events[probe].wanted;
}

/* A probe that cannot be had is out for good. */
static void refuse(const struct client *c, uint32_t probe, const char *why)
{
	const struct tl_tap_probe *p = &c->mod->probes[probe];
	char text[512];

	c->events[probe].wanted = false;
	c->events[probe].size = 0;
	if (p->flags & TL_TAP_PROBE_OPTIONAL)
		return;
	snprintf(text, sizeof(text), "%.200s: probe refused %s", tl_tap_string(c->mod, p->point),
		why);
	tell(&c->tell, MSG_WARN, 1, text);
}

static void fit(struct guardian *g, struct client *c)
{
	struct watchpoint plan[WATCHPOINTS];
	uint32_t refused;

	for (;;) {
		refused = TL_NONE;
		plan_all(g, plan, c, &refused);
		if (refused == TL_NONE)
			return;
		refuse(c, refused,
			"[LIMIT]: the processor has four debug registers, each for up to 8 aligned "
			"bytes, and they are taken; watch fewer or shorter variables, or end other "
			"sessions");
	}
}

/* An address of the script's, by the mappings of now: the processor would take any. */
static bool is_nowhere(struct guardian *g, const struct client *c, uint32_t probe)
{
	const struct tl_tap_probe *p = &c->mod->probes[probe];
	uint64_t last = p->addr + (uint64_t)p->arg - 1;

	return p->image == TL_NONE && !maps_look(g) && !(maps_have(p->addr) && maps_have(last));
}

static int replan(struct guardian *g)
{
	struct watchpoint plan[WATCHPOINTS];
	uint32_t none;

	plan_all(g, plan, NULL, &none);
	return memcmp(plan, g->watchpoints, sizeof(plan)) ? install(g, plan) : renew_all(g);
}

/* "; debug register 3" */
static void registers_text(
	const struct guardian *g, const struct event_probe *e, char *buf, size_t room)
{
	const struct watchpoint *w;
	size_t n = (size_t)snprintf(buf, room, "; debug register");
	int i;

	for (i = 0; i < WATCHPOINTS; i++) {
		w = &g->watchpoints[i];
		if (w->len && w->kind == kind_of(e) && w->addr - e->addr < e->size)
			n += (size_t)snprintf(buf + n, room - n, " %d", i);
	}
}

static void explain_watches(const struct guardian *g, const struct client *c)
{
	const struct teller *t = &c->tell;
	char text[512], at[80], registers[40];
	struct event_probe *e;
	uint32_t i;

	for (i = 0; (t->explain || t->verbose) && i < c->mod->nprobes; i++) {
		e = &c->events[i];
		if (!is_watch(c, i) || !e->size || e->placed)
			continue;
		e->placed = true;
		explain_place(t, e->addr, at, sizeof(at));
		registers_text(g, e, registers, sizeof(registers));
		snprintf(text, sizeof(text), "watch    %s  %.290s; %llu bytes%s", at,
			tl_tap_string(c->mod, c->mod->probes[i].point), (unsigned long long)e->size,
			registers);
		tell(t, t->explain ? MSG_EXPLAIN : MSG_NOTE, 0, text);
	}
}

/* Once: threads to come will not fare better. */
static void tell_ungiven(struct guardian *g)
{
	char text[256];

	if (g->watchpoints_error <= 0)
		return;
	snprintf(text, sizeof(text),
		"the kernel does not give a thread of process %d the debug registers for "
		"process.data (%s): what it writes is not seen; next: end what else uses them "
		"there "
		"(breakpoints of perf, see perf list)",
		g->pid, strerror(g->watchpoints_error));
	note_all(g, "%s", text);
	g->watchpoints_error = -1;
}

static void look(struct guardian *g, struct client *c)
{
	bool news = false;
	uint32_t i;

	for (i = 0; i < c->mod->nprobes; i++) {
		if (!is_watch(c, i) || !resolve(g, c, i))
			continue;
		if (is_nowhere(g, c, i))
			refuse(c, i,
				"[INVAL]: the process has no memory there; give an address as it "
				"has it now (%p prints it), or the variable's name");
		c->events[i].placed = false;
		news = true;
	}
	if (!news)
		return;
	fit(g, c);
	replan(g);
	explain_watches(g, c);
	tell_ungiven(g);
}

void watchpoints_look(struct guardian *g)
{
	struct client *c;

	for (c = g->clients; c; c = c->next)
		if (client_listens(c))
			look(g, c);
}

int watchpoints_part(struct guardian *g)
{
	return replan(g);
}

int watchpoints_leave(struct guardian *g)
{
	static const struct watchpoint none[WATCHPOINTS];

	if (!g->watchpoints_known)
		return 0;
	return g->watchpoints_stand ? install(g, none) : renew_all(g);
}

/* --- hits --------------------------------------------------------------------------------- */

static bool is_hit(const struct guardian *g, uint32_t hits, const struct event_probe *e)
{
	const struct watchpoint *w;
	int i;

	for (i = 0; i < WATCHPOINTS; i++) {
		w = &g->watchpoints[i];
		if (hits >> i & 1 && w->len && w->kind == kind_of(e) && w->addr >= e->addr &&
			w->addr - e->addr < e->size)
			return true;
	}
	return false;
}

static void tell_client(
	struct guardian *g, struct client *c, struct thread *t, uint32_t hits, struct message *m)
{
	bool any = false;

	for (m->number = 0; client_listens(c) && m->number < c->mod->nprobes; m->number++) {
		if (!c->events[m->number].size || !is_hit(g, hits, &c->events[m->number]))
			continue;
		tell_send(&c->tell, m);
		any = true;
	}
	if (any && event_waits(c))
		event_wait(g, c, t);
}

enum claim watchpoint_at_trap(struct guardian *g, struct thread *t)
{
	uint32_t hits = watch_hits_of(g, t);
	struct machine_regs regs;
	struct message m;
	struct client *c;
	bool sent;

	if (!hits)
		return NOT_MINE;
	watch_hits_forget(t->tid);
	g->stops++;
	sent = signal_code(t) <= 0;
	signal_mend(g, t, FORCED_TRAP);
	if (sent && !t->dead) /* one that waited stands for both */
		signal_again(t, SIGTRAP);
	if (t->dead || regs_get(t->tid, &regs) || in_handler(g, regs_pc(&regs)))
		return MINE_TOO;
	m = event_of(g, t);
	m.regs = regs_for_handler(&regs);
	TL_REGS_IP(&m.regs) = text_before(g, regs_pc(&regs));
	for (c = g->clients; c; c = c->next)
		tell_client(g, c, t, hits, &m);
	return MINE_TOO;
}

/* After a guardian that was killed; all stand still. */
void watchpoints_recover(struct guardian *g)
{
	const struct thread *t;

	for (t = g->threads; t; t = t->next) {
		if (!t->stopped || !watch_any(t->tid))
			continue;
		watch_off(t->tid);
		g->watchpoints_known = true; /* hits may be on their way */
	}
}
