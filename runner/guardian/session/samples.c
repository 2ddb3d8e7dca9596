/* SPDX-License-Identifier: MIT */
/*
 * timer.profile: a runner asks where its target is. Each thread that runs or waits
 * for a processor is stopped where it stands, and goes on when the handler has
 * run. Those that sleep are let sleep.
 *
 * One look is over before the next begins, and as much time as it took has gone
 * by: however many threads there are, they run for half of the time.
 */
#define _GNU_SOURCE
#include <string.h>
#include <sys/ptrace.h>

#include "../../base/clock.h"
#include "../../base/proc.h"
#include "../guardian.h"
#include "../family/launch.h"
#include "../trace/ours.h"
#include "events.h"
#include "samples.h"

enum { TOO_LONG_NS = 1000000000 }; /* one that does not come to its stop is not waited for */

static bool is_asked(const struct thread *t, const struct client *c, uint32_t probe)
{
	unsigned i;

	for (i = 0; t->interrupted && i < t->nsamples; i++) {
		if (t->samples[i].slot == c->slot && t->samples[i].probe == probe)
			return true;
	}
	return t->untold & 1u << c->slot;
}

static bool anyone_asked(const struct guardian *g, const struct client *c, uint32_t probe)
{
	const struct thread *t;

	for (t = g->threads; t && !is_asked(t, c, probe); t = t->next)
		;
	return t;
}

static bool is_time(const struct guardian *g, const struct client *c, uint32_t probe, uint64_t now)
{
	const struct event_probe *p = &c->events[probe];
	uint64_t over = c->answered_ns > p->looked_ns ? c->answered_ns : p->looked_ns;

	if (anyone_asked(g, c, probe))
		return now - p->began_ns > TOO_LONG_NS;
	return now - over >= over - p->began_ns;
}

static bool is_running(const struct guardian *g, const struct thread *t)
{
	return t->tgid == g->pid && thread_is_theirs(t) && !t->over && !t->stopped && !t->held &&
	       !t->calling && proc_state(t->tid) == 'R';
}

static void ask(struct thread *t, const struct sample *s)
{
	if (!t->interrupted)
		t->nsamples = 0; /* another stop came instead */
	if (t->nsamples == sizeof(t->samples) / sizeof(*t->samples))
		return;
	t->interrupted |= !ptrace(PTRACE_INTERRUPT, t->tid, 0, 0);
	if (t->interrupted)
		t->samples[t->nsamples++] = *s;
}

static bool may_ask(const struct guardian *g, const struct client *c, uint32_t probe)
{
	return client_listens(c) && event_waits(c) && probe < c->mod->nprobes &&
	       c->events[probe].wanted && c->mod->probes[probe].kind == TL_TAP_PROFILE &&
	       !launch_under_way(g);
}

void sample_ask(struct guardian *g, struct client *c, uint32_t probe)
{
	const struct sample s = {c->slot, probe};
	uint64_t now = now_ns();
	struct thread *t;

	if (!may_ask(g, c, probe) || !is_time(g, c, probe, now))
		return;
	c->events[probe].began_ns = now;
	for (t = g->threads; t; t = t->next) {
		if (is_running(g, t))
			ask(t, &s);
	}
	c->events[probe].looked_ns = now_ns();
}

static struct client *client_at(const struct guardian *g, uint32_t slot)
{
	struct client *c;

	for (c = g->clients; c && c->slot != slot; c = c->next)
		;
	return c;
}

static void tell_sample(
	struct guardian *g, struct thread *t, const struct sample *s, struct message *m)
{
	struct client *c = client_at(g, s->slot);

	if (!c || !may_ask(g, c, s->probe))
		return;
	if (in_our_memory(g, TL_REGS_IP(&m->regs))) {
		c->inside++;
		return;
	}
	m->number = s->probe;
	tell_send(&c->tell, m);
	event_wait(g, c, t);
}

static void take(struct guardian *g, struct thread *t)
{
	struct message m = event_of(g, t);
	struct machine_regs regs;
	unsigned i, n = t->nsamples;

	t->nsamples = 0;
	if (regs_get(t->tid, &regs))
		return;
	m.regs = regs_for_handler(&regs);
	for (i = 0; i < n; i++)
		tell_sample(g, t, &t->samples[i], &m);
	if (!t->untold)
		call_goes_on(g, t);
}

void sample_at_interrupt(struct guardian *g, struct thread *t)
{
	if (t->nsamples)
		take(g, t);
}
