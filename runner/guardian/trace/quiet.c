/* SPDX-License-Identifier: MIT */
/* Does a thread of the target stand in our memory, or has it an address of it on its stack? */
#define _GNU_SOURCE
#include <stdlib.h>
#include <string.h>

#include <trapless/error.h>

#include "../../base/proc.h"
#include "../guardian.h"
#include "areas.h"
#include "loop.h"
#include "near.h"
#include "quiet.h"
#include "remote.h"
#include "restart.h"
#include "stack.h"
#include "stop.h"
#include "threads.h"
#include "traps.h"

enum { PATIENCE_MS = 1000, BORN_MAX = 256 };

/* An address of ours that a thread stands at or has on its stack. */
struct sight {
	uint64_t value;
	pid_t tid;
};

/* What one look at all threads has shown; an entry of value 0: that thread could not be looked at. */
static struct sight *sights;
static size_t nsights, max_sights;

static void note_sight(uint64_t value, pid_t tid)
{
	if (nsights == max_sights) {
		size_t more = max_sights ? max_sights * 2 : 1024;
		void *p = realloc(sights, more * sizeof(*sights));

		if (!p) {
			if (nsights)
				sights[nsights - 1] = (struct sight){0, tid};
			return;
		}
		sights = p;
		max_sights = more;
	}
	sights[nsights++] = (struct sight){value, tid};
}

/* Our memory as it is when a look begins, by address: stacks are long, and a return probe has an area of its own. */
static struct tl_ctl_area ours[TL_CTL_AREAS + 1];
static size_t nours;
static struct near near_ours;

static void note_ours(uint64_t lo, uint64_t size)
{
	if (!size)
		return;
	ours[nours++] = (struct tl_ctl_area){.lo = lo, .size = size};
	near_add(&near_ours, lo, size);
}

static void find_ours(struct guardian *g)
{
	uint32_t i;

	nours = 0;
	near_clear(&near_ours);
	note_ours(g->ctl->agent, g->ctl->agent_size);
	for (i = 0; i < ctl_areas(g); i++) {
		const struct tl_ctl_area a = g->ctl->areas[i];

		if (!a.shared)
			note_ours(a.lo, a.size);
	}
	areas_sort(ours, nours);
}

static bool is_ours(uint64_t addr)
{
	size_t lo = 0, hi = nours;

	if (!near_has(&near_ours, addr))
		return false;
	while (lo < hi) { /* the first one that begins above addr */
		size_t mid = lo + (hi - lo) / 2;

		if (ours[mid].lo > addr)
			hi = mid;
		else
			lo = mid + 1;
	}
	return lo && addr - ours[lo - 1].lo < ours[lo - 1].size;
}

/*
 * Stacks hold plain numbers too (a size of 8 MiB ...), and our areas are large
 * and thinly used: where nothing stands, nobody returns to or was interrupted.
 */
static bool is_empty(struct guardian *g, struct thread *t, uint64_t addr)
{
	uint64_t before = 0,
		 behind = 0; /* what cannot be read, as at the ends of an area, is nothing */

	target_read(g, t->tgid, addr - sizeof(before), &before, sizeof(before));
	target_read(g, t->tgid, addr, &behind, sizeof(behind));
	return !before && !behind;
}

struct looked_at {
	struct guardian *g;
	struct thread *t;
	struct stacks stacks;
	bool interrupted; /* a signal handler runs there that has interrupted code of ours */
};

/* A signal frame's end on the stack of a handler's own leads to the stack that it has interrupted. */
static void look_for_frame(
	struct looked_at *l, uint64_t at, const uint64_t *words, size_t n, size_t i)
{
	struct target_memory m = target_memory(l->g, l->t->tgid);
	struct signal_frame found;

	if (frame_pc_is(words + i, words + n) &&
		frame_read(&m.memory, at + i * sizeof(*words) - machine.frame.pc, &found) &&
		found.sure)
		stacks_add(l->g, &l->stacks, l->t, found.sp);
}

static void look_at_words(void *arg, uint64_t at, const uint64_t *words, size_t n)
{
	struct looked_at *l = arg;
	size_t i;

	for (i = 0; i < n; i++) {
		look_for_frame(l, at, words, n, i);
		if (!is_ours(words[i]) || is_empty(l->g, l->t, words[i]))
			continue;
		note_sight(words[i], l->t->tid);
		l->interrupted |= frame_pc_is(words + i, words + n);
	}
}

static void look_at_stack(struct looked_at *l, uint64_t sp, uint64_t pc)
{
	size_t before = nsights;
	unsigned i;

	if (is_ours(pc))
		note_sight(pc, l->t->tid);
	stacks_begin(l->g, &l->stacks, l->t, sp);
	for (i = 0; i < l->stacks.n; i++)
		stacks_words(l->g, &l->stacks, i, l->t, look_at_words, l);
	l->t->inside = is_ours(pc) || l->interrupted;
	/* Our code calls none of the program's: outside of it, what it has left on the stack leads nowhere. */
	if (!l->t->inside && l->g->inside_only)
		nsights = before;
}

/* Without stopping it. false: it did not sleep all the while, and what was seen may be half of two things. */
static bool look_asleep(struct looked_at *l)
{
	uint64_t sleeps = times_asleep(l->t->tid);
	struct proc_sleep where;
	size_t before = nsights;

	if (!stack_is_known(l->g, l->t) && !waits_for_child(l->g, l->t))
		return false;
	if (l->t->stopped || !sleeps || !proc_sleeps(l->t->tid, &where))
		return false;
	look_at_stack(l, where.sp, where.pc);
	if (sleeps_on(l->t->tid, sleeps))
		return true;
	nsights = before;
	return false;
}

/* By a short stop; false: could not be stopped. */
static bool look_stopped(struct looked_at *l)
{
	struct machine_regs regs, as_found;
	struct guardian *g = l->g;
	struct thread *t = l->t;
	bool stopped = t->stopped;
	uint64_t slept = 0;

	if (!stopped) {
		slept = sleep_so_far(g, t);
		if (!thread_interrupt(g, t, PATIENCE_MS))
			return false;
		slept = sleep_confirmed(t, slept);
	}
	if (regs_get(t->tid, &regs))
		return false;
	stack_learn(g, t, &regs);
	look_at_stack(l, regs_sp(&regs), regs_pc(&regs));
	if (stopped)
		return true;
	as_found = regs;
	if (regs_call(&regs) >= 0 && !t->own_trap && !signals_waiting(t)) {
		call_restart(g, t, &regs, slept);
		if (memcmp(&regs, &as_found, sizeof(regs)))
			regs_set(t->tid, &regs);
	}
	thread_release(g, t);
	return true;
}

static uint32_t round; /* looks so far */

/* A newborn begins where its parent stood then, which only its first stop tells. NULL: it is gone. */
static struct thread *begun(struct guardian *g, pid_t tid)
{
	double end = now_ms() + PATIENCE_MS;
	struct thread *t;

	while ((t = thread_find(g, tid)) && t->newborn && now_ms() < end)
		loop_for(g, 1);
	return t;
}

static void look_at(struct guardian *g, pid_t tid)
{
	struct looked_at l = {.g = g, .t = begun(g, tid)};

	if (!l.t || l.t->helper || l.t->dead)
		return;
	l.t->look = round;
	if (l.t->newborn) {
		note_sight(0, tid);
		return;
	}
	l.t->inside = false;
	if (!look_asleep(&l) && !look_stopped(&l) && thread_find(g, tid))
		note_sight(0, tid);
}

static struct thread *not_looked_at(struct thread *t)
{
	while (t && (t->look == round || t->helper || t->dead))
		t = t->next;
	return t;
}

/* Of those left, newborns stand at the list's head. */
static struct thread *next_behind(const struct guardian *g, pid_t tid)
{
	struct thread *t = thread_find(g, tid), *next = t ? not_looked_at(t->next) : NULL;

	return next ? next : not_looked_at(g->threads);
}

/*
 * Look at every thread once, at those born meanwhile, perhaps in a detour, too. What was out of reach before this began
 * is then known to be quiet or not; unless they are born faster than we look.
 */
static void look_around(struct guardian *g)
{
	uint32_t looks = g->nthreads + BORN_MAX;
	struct thread *t;
	pid_t tid = 0;

	nsights = 0;
	round++;
	find_ours(g);
	while ((t = next_behind(g, tid)) && looks--) {
		tid = t->tid;
		look_at(g, tid);
		while (loop_event(g, false)) /* nobody else waits until we are through */
			;
	}
	for (t = not_looked_at(g->threads); t; t = not_looked_at(t->next))
		note_sight(0, t->tid);
}

void quiet_forget(struct guardian *g)
{
	g->looked = false;
}

static void look(struct guardian *g)
{
	if (!g->looked)
		look_around(g);
	g->looked = g->one_look; /* while nothing new goes out of use, one look does for all */
}

/* 0: nobody stands in [lo, hi) or has an address of it on the stack. */
int quiet_in(struct guardian *g, uint64_t lo, uint64_t hi, struct thread **who)
{
	size_t i;

	look(g);
	for (i = 0; i < nsights; i++) {
		if (sights[i].value && sights[i].value - lo >= hi - lo)
			continue;
		if (who)
			*who = thread_find(g, sights[i].tid);
		return -TL_E_BUSY;
	}
	return 0;
}

int quiet_seen(struct guardian *g, uint64_t lo, uint64_t hi)
{
	size_t i;

	look(g);
	g->ctl->npcs = 0;
	for (i = 0; i < nsights; i++) {
		if (!sights[i].value)
			return -TL_E_BUSY;
		if (g->ctl->npcs == TL_CTL_PCS)
			return -TL_E_LIMIT;
		if (sights[i].value - lo < hi - lo)
			pcs_add(g, sights[i].tid, sights[i].value, 0);
	}
	return 0;
}
