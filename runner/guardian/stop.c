/* SPDX-License-Identifier: MIT */
/* Stopping everyone, and letting them go on, elsewhere where that is wanted. */
#define _GNU_SOURCE
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#include <trapless/error.h>

#include "../proc.h"
#include "guardian.h"

static struct user_regs_struct *found_regs; /* of stopped threads, by order in stopped[] */
static pid_t *stopped;
static size_t nstopped;

void pcs_add(struct guardian *g, pid_t tid, uint64_t pc, uint64_t where)
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
	const struct tl_ctl_map *m = map_at(g, addr);

	return m && m->prot & PROT_EXEC;
}

struct frames {
	struct guardian *g;
	struct thread *t;
	struct stacks stacks;
};

static void add_frame(struct frames *f, uint64_t frame)
{
	uint64_t pc, sp;

	if (target_read(f->g, f->t->tgid, frame + FRAME_PC, &pc, 8) != 8 ||
		target_read(f->g, f->t->tgid, frame + FRAME_SP, &sp, 8) != 8)
		return;
	pcs_add(f->g, f->t->tid, pc, frame + FRAME_PC);
	stacks_add(f->g, &f->stacks, sp);
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

	stacks_add(g, &f.stacks, sp);
	for (i = 0; i < f.stacks.n; i++)
		stack_words(g, t, f.stacks.sp[i], look_for_frames, &f);
}

static bool stop_one(struct guardian *g, struct thread *t)
{
	struct user_regs_struct *regs = &found_regs[nstopped];
	uint64_t slept = sleep_so_far(g, t);

	if (!t->stopped && !thread_interrupt(g, t, 1000))
		return false;
	slept = sleep_confirmed(t, slept);
	if (trap_is_due(g, t)) { /* where it stands is not where it goes on; its turn comes again */
		thread_release(g, t);
		pump_for(g, 1);
		return true;
	}
	t->held = true;
	if (regs_get(t->tid, regs))
		return true;
	if (!signals_waiting(t)) {
		call_restart(g, t, regs, slept);
		regs_set(t->tid, regs);
	}
	stopped[nstopped++] = t->tid;
	pcs_add(g, t->tid, regs->rip, 0);
	add_saved(g, t, regs->rsp);
	return true;
}

static struct thread *next_running(struct guardian *g, bool inside)
{
	struct thread *t;

	for (t = g->threads; t; t = t->next) {
		if (thread_is_theirs(t) && !(t->stopped && t->held) && (!inside || t->inside))
			return t;
	}
	return NULL;
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
	g->ctl->npcs = 0;
	return stopped && found_regs ? max : 0;
}

/* Only those that the last look has seen in our code; not who cannot be stopped. */
void stop_inside(struct guardian *g)
{
	size_t max = stop_begin(g);
	struct thread *t;

	while (nstopped < max && (t = next_running(g, true))) {
		t->inside = false; /* asked once */
		stop_one(g, t);
	}
}

/* 0, or -TL_E_BUSY with everyone running again. Threads born meanwhile are stopped too. */
int stop_all(struct guardian *g)
{
	size_t max = stop_begin(g);
	struct thread *t;

	if (!max)
		return -TL_E_NOMEM;
	while ((t = next_running(g, false))) {
		pid_t tid = t->tid;

		if (nstopped == max || (!stop_one(g, t) && thread_find(g, tid))) {
			resume_all(g, false);
			return -TL_E_BUSY;
		}
	}
	return 0;
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
	struct user_regs_struct regs;
	struct proc_sleep where;
	uint64_t sleeps;

	if (t->stopped) {
		if (!regs_get(t->tid, &regs))
			add_stack(g, t, regs.rsp, 0);
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
				if (found_regs[n].rcx == p->pc) /* behind a system call */
					found_regs[n].rcx = p->to;
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
