/* SPDX-License-Identifier: MIT */
/* Stopping everyone, and looking whether anyone stands in or refers to a range. */
#define _GNU_SOURCE
#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/ptrace.h>
#include <unistd.h>

#include <trapless/error.h>

#include "../proc.h"
#include "guardian.h"

enum { CHUNK = 64 * 1024, FRAME_PC = 8 + 40 + 16 * 8, FRAME_SP = 8 + 40 + 15 * 8 };

static bool concerns(const struct guardian *g, const struct thread *t)
{
	(void)g;
	return !t->helper && !t->dead && !t->newborn;
}

/* The mapping that holds addr, or NULL. */
static const struct tl_ctl_map *mapping_at(struct guardian *g, uint64_t addr)
{
	const struct tl_ctl_map *maps = g->ctl->maps;
	uint32_t lo = 0, count = ctl_bounded(&g->ctl->nmaps, TL_CTL_MAPS), hi = count;

	while (lo < hi) {
		uint32_t mid = lo + (hi - lo) / 2;

		if (maps[mid].hi > addr)
			hi = mid;
		else
			lo = mid + 1;
	}
	return lo < count && maps[lo].lo <= addr ? &maps[lo] : NULL;
}

/* The end of the mapping that a stack pointer lies in, 0: none. */
static uint64_t stack_end(struct guardian *g, uint64_t sp)
{
	const struct tl_ctl_map *m = mapping_at(g, sp);

	return m ? m->hi : 0;
}

/* --- who stands where ------------------------------------------------------------- */

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

		if (!p)
			return;
		sights = p;
		max_sights = more;
	}
	sights[nsights++] = (struct sight){value, tid};
}

static uint64_t ours_lo, ours_hi; /* hull of our memory: a quick test */

static bool is_ours(struct guardian *g, uint64_t addr)
{
	uint32_t i;

	if (addr - ours_lo >= ours_hi - ours_lo)
		return false;
	for (i = 0; i < ctl_areas(g); i++) {
		if (addr - g->ctl->areas[i].lo < g->ctl->areas[i].size)
			return true;
	}
	return addr - g->ctl->agent < g->ctl->agent_size;
}

static void find_hull(struct guardian *g)
{
	uint32_t i;

	ours_lo = g->ctl->agent;
	ours_hi = g->ctl->agent + g->ctl->agent_size;
	for (i = 0; i < ctl_areas(g); i++) {
		const struct tl_ctl_area *a = &g->ctl->areas[i];

		if (!a->size)
			continue;
		ours_lo = a->lo < ours_lo ? a->lo : ours_lo;
		ours_hi = a->lo + a->size > ours_hi ? a->lo + a->size : ours_hi;
	}
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

static void scan_stack(struct guardian *g, struct thread *t, uint64_t sp)
{
	static uint64_t words[CHUNK / 8];
	uint64_t at = sp & ~7ull, end = stack_end(g, sp);

	while (at < end) {
		size_t want = end - at < CHUNK ? end - at : CHUNK,
		       n = target_read(g, t->tgid, at, words, want), i;

		for (i = 0; i < n / 8; i++) {
			if (is_ours(g, words[i]) && !is_empty(g, t, words[i]))
				note_sight(words[i], t->tid);
		}
		if (n != want)
			return;
		at += n;
	}
}

/* Where a sleeping thread stands, without stopping it. */
static bool asleep_at(struct thread *t, uint64_t *sp, uint64_t *pc)
{
	struct proc_sleep where;

	if (!proc_sleeps(t->tid, &where))
		return false;
	*sp = where.sp;
	*pc = where.pc;
	return true;
}

/* Its registers by a short stop; false: could not be stopped. */
static bool look_stopped(struct guardian *g, struct thread *t, uint64_t *sp, uint64_t *pc)
{
	struct user_regs_struct regs, as_found;
	uint64_t slept;
	bool waits;

	if (t->stopped) {
		if (regs_get(t->tid, &regs))
			return false;
		*sp = regs.rsp;
		*pc = regs.rip;
		return true;
	}
	slept = sleep_so_far(g, t);
	if (!thread_interrupt(g, t, 1000))
		return false;
	slept = sleep_confirmed(t, slept);
	if (regs_get(t->tid, &regs))
		return false;
	*sp = regs.rsp;
	*pc = regs.rip;
	as_found = regs;
	waits = signal_waits(g, t);
	if (!waits && (long)regs.orig_rax >= 0) {
		call_restart(g, t, &regs, slept);
		if (memcmp(&regs, &as_found, sizeof(regs)))
			regs_set(t->tid, &regs);
	}
	thread_release(g, t);
	return true;
}

static void look_at(struct guardian *g, pid_t tid)
{
	struct thread *t = thread_find(g, tid);
	uint64_t sp, pc;

	if (!t || !concerns(g, t))
		return;
	if (!(!t->stopped && asleep_at(t, &sp, &pc)) && !look_stopped(g, t, &sp, &pc)) {
		if (thread_find(g, tid))
			note_sight(0, tid);
		return;
	}
	if (is_ours(g, pc))
		note_sight(pc, tid);
	scan_stack(g, t, sp);
}

/* Look at every thread once. What was out of reach before this began is then known to be quiet or not. */
static void look_around(struct guardian *g)
{
	pid_t *tids;
	size_t n = 0, i;
	struct thread *t;

	nsights = 0;
	find_hull(g);
	for (t = g->threads; t; t = t->next)
		n++;
	tids = calloc(n + 1, sizeof(*tids));
	if (!tids) {
		note_sight(0, 0);
		return;
	}
	for (n = 0, t = g->threads; t; t = t->next)
		tids[n++] = t->tid;
	for (i = 0; i < n; i++)
		look_at(g, tids[i]);
	free(tids);
}

void quiet_forget(struct guardian *g)
{
	g->looked = false;
}

/* 0: nobody stands in [lo, hi) or has an address of it on the stack. */
int quiet(struct guardian *g, uint64_t lo, uint64_t hi, struct thread **who)
{
	size_t i;

	if (!g->looked)
		look_around(g);
	g->looked = g->one_look; /* while nothing new goes out of use, one look does for all */
	for (i = 0; i < nsights; i++) {
		if (sights[i].value && sights[i].value - lo >= hi - lo)
			continue;
		if (who)
			*who = thread_find(g, sights[i].tid);
		return -TL_E_BUSY;
	}
	return 0;
}

/* --- everyone ---------------------------------------------------------------------- */

static struct user_regs_struct *found_regs; /* of stopped threads, by order in stopped[] */
static pid_t *stopped;
static size_t nstopped;

static void add_pc(struct guardian *g, pid_t tid, uint64_t pc, uint64_t where)
{
	uint32_t n = ctl_bounded(&g->ctl->npcs, TL_CTL_PCS);
	struct tl_ctl_pc *p = &g->ctl->pcs[n];

	if (n == TL_CTL_PCS)
		return;
	g->ctl->npcs = n + 1;
	p->pc = p->to = pc;
	p->tid = (uint32_t)tid;
	p->where = where;
}

/* Is this where a signal handler returns to: mov $15, %eax (or %rax); syscall? */
static bool is_restorer(struct guardian *g, uint64_t addr)
{
	static uint64_t last_yes;
	static const uint8_t glibc[] = {0x48, 0xc7, 0xc0, 0x0f, 0, 0, 0, 0x0f, 0x05};
	static const uint8_t other[] = {0xb8, 0x0f, 0, 0, 0, 0x0f, 0x05};
	uint8_t code[9];

	if (addr == last_yes)
		return true;
	if (addr < 4096 || addr >> 47 ||
		target_read(g, g->pid, addr, code, sizeof(code)) != sizeof(code))
		return false;
	if (memcmp(code, glibc, sizeof(glibc)) && memcmp(code, other, sizeof(other)))
		return false;
	last_yes = addr;
	return true;
}

static bool is_code(struct guardian *g, uint64_t addr)
{
	const struct tl_ctl_map *m = mapping_at(g, addr);

	return m && m->prot & PROT_EXEC;
}

/* Stacks of one thread: the one it is on, and those that signal handlers interrupted. */
struct stacks {
	uint64_t sp[8];
	unsigned n;
};

/* Once each: frames may lie there that lead in a circle. */
static void stacks_add(struct guardian *g, struct stacks *s, uint64_t sp)
{
	uint64_t end = stack_end(g, sp);
	unsigned i;

	for (i = 0; i < s->n; i++) {
		if (sp >= s->sp[i] && end == stack_end(g, s->sp[i]))
			return;
	}
	if (end && s->n < sizeof(s->sp) / sizeof(*s->sp))
		s->sp[s->n++] = sp;
}

static void add_frame(struct guardian *g, struct thread *t, uint64_t frame, struct stacks *s)
{
	uint64_t pc, sp;

	if (target_read(g, t->tgid, frame + FRAME_PC, &pc, 8) != 8 ||
		target_read(g, t->tgid, frame + FRAME_SP, &sp, 8) != 8)
		return;
	add_pc(g, t->tid, pc, frame + FRAME_PC);
	stacks_add(g, s, sp);
}

static void scan_frames(struct guardian *g, struct thread *t, uint64_t sp, struct stacks *s)
{
	static uint64_t words[CHUNK / 8];
	uint64_t at = sp & ~7ull, end = stack_end(g, sp);

	while (at < end) {
		size_t want = end - at < CHUNK ? end - at : CHUNK,
		       n = target_read(g, t->tgid, at, words, want), i;

		for (i = 0; i < n / 8; i++) {
			if (is_code(g, words[i]) && is_restorer(g, words[i]))
				add_frame(g, t, at + i * 8, s);
		}
		if (n != want)
			return;
		at += n;
	}
}

/* Program counters in signal frames. */
static void add_saved(struct guardian *g, struct thread *t, uint64_t sp)
{
	struct stacks s = {.n = 0};
	unsigned i;

	stacks_add(g, &s, sp);
	for (i = 0; i < s.n; i++)
		scan_frames(g, t, s.sp[i], &s);
}

static bool stop_one(struct guardian *g, struct thread *t)
{
	struct user_regs_struct *regs = &found_regs[nstopped];
	uint64_t slept = sleep_so_far(g, t);

	if (!t->stopped && !thread_interrupt(g, t, 1000))
		return false;
	slept = sleep_confirmed(t, slept);
	t->held = true;
	if (regs_get(t->tid, regs))
		return true;
	if (!signal_waits(g, t)) {
		call_restart(g, t, regs, slept);
		regs_set(t->tid, regs);
	}
	stopped[nstopped++] = t->tid;
	add_pc(g, t->tid, regs->rip, 0);
	add_saved(g, t, regs->rsp);
	return true;
}

static struct thread *next_running(struct guardian *g)
{
	struct thread *t;

	for (t = g->threads; t; t = t->next) {
		if (concerns(g, t) && !(t->stopped && t->held))
			return t;
	}
	return NULL;
}

/* 0, or -TL_E_BUSY with everyone running again. Threads born meanwhile are stopped too. */
int stop_all(struct guardian *g)
{
	size_t max = 16;
	struct thread *t;

	for (t = g->threads; t; t = t->next)
		max++;
	max *= 2;
	stopped = calloc(max, sizeof(*stopped));
	found_regs = calloc(max, sizeof(*found_regs));
	nstopped = 0;
	g->ctl->npcs = 0;
	if (!stopped || !found_regs)
		return -TL_E_NOMEM;
	while ((t = next_running(g))) {
		pid_t tid = t->tid;

		if (nstopped == max || (!stop_one(g, t) && thread_find(g, tid))) {
			resume_all(g, false);
			return -TL_E_BUSY;
		}
	}
	return 0;
}

static void apply_pcs(struct guardian *g)
{
	uint32_t i;
	size_t n;

	for (i = 0; i < ctl_bounded(&g->ctl->npcs, TL_CTL_PCS); i++) {
		struct tl_ctl_pc *p = &g->ctl->pcs[i];

		if (p->to == p->pc || !p->to)
			continue;
		if (p->where) {
			target_write(g, g->pid, p->where, &p->to, sizeof(p->to));
			continue;
		}
		for (n = 0; n < nstopped; n++) {
			if (stopped[n] == (pid_t)p->tid) {
				found_regs[n].rip = p->to;
				regs_set(stopped[n], &found_regs[n]);
			}
		}
	}
}

void resume_all(struct guardian *g, bool apply)
{
	size_t i;

	if (apply)
		apply_pcs(g);
	for (i = 0; i < nstopped; i++) {
		struct thread *t = thread_find(g, stopped[i]);

		if (t && t != g->main_held)
			thread_release(g, t);
	}
	free(stopped);
	free(found_regs);
	stopped = NULL;
	found_regs = NULL;
	nstopped = 0;
}
