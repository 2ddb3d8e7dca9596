/* SPDX-License-Identifier: MIT */
/* Stopping everyone, and letting them go on, elsewhere where that is wanted. */
#define _GNU_SOURCE
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#include <trapless/error.h>

#include "../../base/proc.h"
#include "../guardian.h"
#include "births.h"
#include "loop.h"
#include "maps.h"
#include "near.h"
#include "remote.h"
#include "restart.h"
#include "stack.h"
#include "stop.h"
#include "threads.h"
#include "traps.h"

static struct machine_regs *found_regs; /* of stopped threads, by order in stopped[] */
static pid_t *stopped;
static size_t nstopped;

enum { PATIENCE_MS = 1000, NONE_SETS = 1024 };

static uint64_t none[NONE_SETS]; /* see is_restorer() */

void pcs_add(struct guardian *g, pid_t tid, uint64_t pc, uint64_t where)
{
	uint32_t n = ctl_bounded(&g->ctl->npcs, TL_CTL_PCS);
	struct tl_ctl_pc *p = &g->ctl->pcs[n];

	if (n == TL_CTL_PCS)
		return;
	g->ctl->npcs = n + 1;
	p->pc = p->to = pc;
	p->tid = (uint32_t)tid;
	p->fixed = false;
	p->where = where;
}

static bool reads_as_restorer(struct guardian *g, uint64_t addr)
{
	uint8_t code[INSN_BYTES];

	return addr >= PAGE && addr < machine.user_end &&
	       target_read(g, g->pid, addr, code, machine.restorer_max) == machine.restorer_max &&
	       machine_is_restorer(code);
}

/*
 * Is this where a signal handler returns to? Stacks are full of the same
 * addresses that are not, and while everyone stands still no code changes:
 * those are remembered for the present look.
 */
static bool is_restorer(struct guardian *g, uint64_t addr)
{
	uint64_t *known = &none[addr % NONE_SETS];

	if (*known == addr)
		return false;
	if (reads_as_restorer(g, addr))
		return true;
	*known = addr;
	return false;
}

static struct near near_code; /* while everyone stands still */

static void find_code(const struct guardian *g)
{
	uint32_t n = ctl_bounded(&g->ctl->nmaps, TL_CTL_MAPS), i;

	near_clear(&near_code);
	for (i = 0; i < n; i++) {
		if (g->ctl->maps[i].prot & PROT_EXEC)
			near_add(&near_code, g->ctl->maps[i].lo,
				g->ctl->maps[i].hi - g->ctl->maps[i].lo);
	}
}

static bool is_code(struct guardian *g, uint64_t addr)
{
	const struct tl_ctl_map *m = near_has(&near_code, addr) ? map_at(g, addr) : NULL;

	return m && m->prot & PROT_EXEC;
}

struct frames {
	struct guardian *g;
	struct thread *t;
	struct stacks stacks;
};

/*
 * What a handler was set with names the restorer, too, and may have been left
 * on a stack: what lies around it then may lead anywhere, to 256 MiB of heap.
 */
static void add_frame(struct frames *f, uint64_t frame)
{
	struct target_memory m = target_memory(f->g, f->t->tgid);
	struct signal_frame found;

	if (!frame_read(&m.memory, frame, &found))
		return;
	pcs_add(f->g, f->t->tid, found.pc, frame + machine.frame.pc);
	stacks_add(f->g, &f->stacks, f->t, found.sp);
}

static void look_for_frames(void *arg, uint64_t at, const uint64_t *words, size_t n)
{
	struct frames *f = arg;
	size_t i;

	for (i = 0; i < n; i++) {
		if (is_code(f->g, words[i]) && is_restorer(f->g, words[i]))
			add_frame(f, at + i * 8);
	}
}

/* Program counters in signal frames. */
static void add_saved(struct guardian *g, struct thread *t, uint64_t sp)
{
	struct frames f = {.g = g, .t = t};
	unsigned i;

	stacks_begin(g, &f.stacks, t, sp);
	for (i = 0; i < f.stacks.n; i++)
		stacks_words(g, &f.stacks, i, t, look_for_frames, &f);
}

bool stop_ask(struct guardian *g, struct thread *t)
{
	t->slept = sleep_so_far(g, t);
	t->asked = thread_ask(t);
	return t->asked;
}

static bool stop_one(struct guardian *g, struct thread *t, int patience_ms)
{
	struct machine_regs *regs = &found_regs[nstopped];
	uint64_t slept = 0;

	if (!t->stopped && !t->asked && !stop_ask(g, t))
		return false;
	if (t->asked) {
		t->asked = false;
		if (!t->stopped && !thread_await(g, t, patience_ms))
			return false;
		slept = sleep_confirmed(t, t->slept);
	}
	if (trap_is_due(g, t)) { /* where it stands is not where it goes on; its turn comes again */
		thread_release(g, t);
		loop_for(g, 1);
		return true;
	}
	thread_hold(t);
	if (regs_get(t->tid, regs))
		return true;
	t->pointer = regs_thread(regs);
	if (!t->own_trap && !signals_waiting(t)) {
		call_restart(g, t, regs, slept);
		regs_set(t->tid, regs);
	}
	stopped[nstopped++] = t->tid;
	return true;
}

/* Or it is there no more, or its vfork child has to stop first. */
static bool stop_or_lose(struct guardian *g, struct thread *t, int patience_ms)
{
	pid_t tid = t->tid;

	return stop_one(g, t, patience_ms) || thread_find(g, tid) != t || stop_held_up(g, t);
}

static bool runs(const struct guardian *g, const struct thread *t)
{
	(void)g;
	return thread_is_theirs(t) && !(t->stopped && t->held) && !t->pinned;
}

static bool runs_inside(const struct guardian *g, const struct thread *t)
{
	return runs(g, t) && t->inside;
}

static bool is_asked(const struct guardian *g, const struct thread *t)
{
	return t->asked && !t->pinned && !stop_held_up(g, t);
}

static bool runs_free(const struct guardian *g, const struct thread *t)
{
	return runs(g, t) && !stop_held_up(g, t);
}

static struct thread *next_that(
	const struct guardian *g, bool (*suits)(const struct guardian *, const struct thread *))
{
	struct thread *t;

	for (t = g->threads; t && !suits(g, t); t = t->next)
		;
	return t;
}

/* Before the first one is waited for: they come to rest side by side, not one after the other. */
static void ask_all(struct guardian *g)
{
	struct thread *t;

	for (t = g->threads; t; t = t->next) {
		if (runs(g, t) && !t->stopped)
			stop_ask(g, t);
	}
}

/* How many threads there is room for; 0: no memory. */
static size_t stop_begin(struct guardian *g)
{
	size_t max = 16;
	struct thread *t;

	for (t = g->threads; t; t = t->next)
		max++;
	max *= 2;
	stopped = calloc(max, sizeof(*stopped));
	found_regs = calloc(max, sizeof(*found_regs));
	nstopped = 0;
	g->stopping = stopped;
	return stopped && found_regs ? max : 0;
}

/* Where they stand, and where handlers of signals will go back to. */
static void look_at_stopped(struct guardian *g)
{
	struct thread *t;
	size_t i;

	g->ctl->npcs = 0;
	memset(none, 0, sizeof(none));
	find_code(g);
	for (i = 0; i < nstopped; i++) {
		t = thread_find(g, stopped[i]);
		pcs_add(g, stopped[i], regs_pc(&found_regs[i]), 0);
		if (t && t->pinned && g->ctl->npcs)
			g->ctl->pcs[g->ctl->npcs - 1].fixed = true;
		if (t && !t->pinned)
			stack_learn(g, t, &found_regs[i]);
		if (t)
			add_saved(g, t, regs_sp(&found_regs[i]));
	}
}

/* Only those that the last look has seen in our code; not who cannot be stopped. */
void stop_inside(struct guardian *g)
{
	size_t max = stop_begin(g);
	struct thread *t;

	while (nstopped < max && (t = next_that(g, runs_inside))) {
		t->inside = false; /* asked once */
		if (!waits_for_child(g, t))
			stop_one(g, t, PATIENCE_MS);
	}
	look_at_stopped(g);
}

bool stop_thread(struct guardian *g, struct thread *t)
{
	bool stopped = stop_begin(g) && stop_one(g, t, PATIENCE_MS);

	resume_all(g, false);
	return stopped;
}

/*
 * Who waits for its vfork child cannot stop before that one has become another program, or has ended. But asked to stop
 * it will do so before the program's next instruction: once the child stands still, so does its parent, in that call.
 */
static bool pin(struct guardian *g, struct thread *t)
{
	double end = now_ms() + PATIENCE_MS;
	struct proc_sleep where;
	pid_t tid = t->tid;

	if (!t->interrupted && !stop_ask(g, t))
		return false;
	thread_hold(t);
	t->asked = false;
	while (!proc_sleeps(tid, &where)) { /* on its way there */
		loop_for(g, 1);
		if (thread_find(g, tid) != t)
			return true;
		if (!stop_held_up(g, t))
			return stop_or_lose(g, t, PATIENCE_MS);
		if (now_ms() > end)
			return false;
	}
	t->pinned = true;
	regs_pc_set(&found_regs[nstopped], where.pc);
	regs_sp_set(&found_regs[nstopped], where.sp);
	stopped[nstopped++] = tid;
	return true;
}

/* Children first: those of vfork hold their parents up, and who is being born would begin to run. */
static struct thread *next_to_stop(struct guardian *g)
{
	struct thread *t = next_that(g, runs_free);

	if (t)
		return t;
	loop_while(g, any_newborn, PATIENCE_MS);
	t = next_that(g, runs_free);
	return t ? t : next_that(g, runs);
}

/* 0, or -TL_E_BUSY with everyone running again. Threads born meanwhile are stopped too. */
int stop_unseen(struct guardian *g)
{
	size_t max = stop_begin(g);
	struct thread *t;
	bool all = true;

	if (!max)
		return -TL_E_NOMEM;
	ask_all(g);
	/* Where one fails, too: the calls of the others are to start again. */
	while ((t = next_that(g, is_asked)))
		all &= stop_or_lose(g, t, all ? PATIENCE_MS : 0);
	while (all && (t = next_to_stop(g)))
		all = nstopped < max &&
		      (stop_held_up(g, t) ? pin(g, t) : stop_or_lose(g, t, PATIENCE_MS));
	if (!all) {
		resume_all(g, false);
		return -TL_E_BUSY;
	}
	return 0;
}

int stop_all(struct guardian *g)
{
	int ret = stop_unseen(g);

	if (!ret)
		look_at_stopped(g);
	return ret;
}

/* --- where stacks end ------------------------------------------------------------- */

uint64_t times_asleep(pid_t tid)
{
	uint64_t n;

	return proc_status(tid, "voluntary_ctxt_switches", 10, &n) ? 0 : n;
}

/* Looked at in this order: the other way round it could wake, and sleep again, in between. */
bool sleeps_on(pid_t tid, uint64_t times)
{
	struct proc_sleep where;

	return proc_sleeps(tid, &where) && times_asleep(tid) == times;
}

static void add_stack(struct guardian *g, const struct thread *t, uint64_t sp, uint64_t sleeps)
{
	uint32_t n = ctl_bounded(&g->ctl->nstacks, TL_CTL_STACKS);
	const struct tl_ctl_map *m = map_at(g, sp);

	if (n == TL_CTL_STACKS || !m || !t->number)
		return;
	g->ctl->nstacks = n + 1;
	g->ctl->stacks[n] = (struct tl_ctl_stack){
		.sp = sp, .lo = m->lo, .hi = m->hi, t->number, (uint32_t)t->tid, sleeps};
}

static void add_stack_of(struct guardian *g, const struct thread *t)
{
	struct machine_regs regs;
	struct proc_sleep where;
	uint64_t sleeps;

	if (t->stopped) {
		if (!regs_get(t->tid, &regs))
			add_stack(g, t, regs_sp(&regs), 0);
		return;
	}
	sleeps = times_asleep(t->tid);
	if (sleeps && proc_sleeps(t->tid, &where))
		add_stack(g, t, where.sp, sleeps);
}

void stacks_tell(struct guardian *g)
{
	struct proc_sleep where;
	struct thread *t;

	maps_read(g);
	for (t = g->threads; t; t = t->next)
		t->inside = !proc_sleeps(t->tid, &where);
	stop_inside(g);
	g->ctl->nstacks = 0;
	for (t = g->threads; t; t = t->next) {
		if (thread_is_theirs(t))
			add_stack_of(g, t);
	}
}

/* Asleep before and after, and not once more between: it has not run. */
void stacks_check(struct guardian *g)
{
	uint32_t i;

	for (i = 0; i < ctl_bounded(&g->ctl->nstacks, TL_CTL_STACKS); i++) {
		struct tl_ctl_stack *s = &g->ctl->stacks[i];

		if (s->sleeps && !sleeps_on((pid_t)s->tid, s->sleeps))
			s->sp = 0;
	}
	resume_all(g, false);
}

/* --- going on ------------------------------------------------------------------------ */

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
				regs_pc_moved(&found_regs[n], p->to);
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

		if (t)
			t->pinned = false;
		if (t && t != g->main_held)
			thread_release(g, t);
	}
	free(stopped);
	free(found_regs);
	stopped = NULL;
	found_regs = NULL;
	nstopped = 0;
	g->stopping = false;
}
