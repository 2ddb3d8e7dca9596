/* SPDX-License-Identifier: MIT */
/*
 * Probes of all kinds put and taken in random order, in random programs, while
 * threads run them. After each step some function must do what a process does
 * in which nothing is probed, and each handler be called as often as its
 * instruction was come by there; each probe must stand as was foretold; and
 * with the last one gone the text is byte for byte what it was.
 *
 * usage: churn [SEEDS [FIRST [STEPS]]]
 */
#define _GNU_SOURCE
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "../../../engine/core/detour/site.h"
#include "../../../engine/core/detour/thread.h"
#include "../../../engine/core/probe/batch.h"
#include "../../../engine/core/probe/probe.h"
#include "../../../engine/os/os.h"
#include "churn.h"

#define HANDLER __attribute__((target("general-regs-only")))

enum { POINTS = 240, BATCH = 48, INPUTS = 4, WORKERS = 2, STEPS = 120, RUNS = 3 };

struct point {
	struct tl_probe probe;
	unsigned item;
	enum act act;
	bool registered, enabled;
	uint32_t hits, posts; /* of the main thread */
	unsigned foretold; /* rung */
	int why;
};

struct ret {
	struct tl_retprobe probe;
	struct tl_func_part part;
	bool registered;
	uint32_t entries, returns;
};

static struct program prog;
static struct run *asked;
static struct point points[POINTS];
static struct ret rets[FUNCS];
static unsigned users[SITES]; /* points of each instruction */
static uint8_t taken[SITES]; /* what one of them does, on or off */
static struct world bare[FUNCS][INPUTS];
static uint8_t pristine[TEXT_SIZE];
static uint64_t seed;
static unsigned step, armed_on[TL_RUNG_TRAP + 1], refused;
static volatile bool over;
static __thread bool is_main;

static void fail(const char *what, const struct item *i)
{
	printf("# seed %lu step %u: %s", (unsigned long)seed, step, what);
	if (i)
		printf(" at churn_text+%#x (function %u)", i->off, i->func);
	printf("\n");
	fflush(stdout);
	abort();
}

/* --- handlers --------------------------------------------------------------------- */

static int HANDLER on_point(struct tl_probe *p, struct tl_regs *regs, struct tl_thread *self)
{
	struct point *pt = p->data;

	(void)self;
	if (!is_main)
		return 0;
	pt->hits++;
	switch (pt->act) {
	case ACT_TWIST:
		regs->ax ^= TWIST;
		return 0;
	case ACT_SKIP:
		regs->ip = (uintptr_t)p->addr + prog.item[pt->item].len;
		return 1;
	case ACT_LEAVE:
		regs->ip = *(uintptr_t *)regs->sp;
		regs->sp += 8;
		return 1;
	default:
		return 0;
	}
}

static void HANDLER on_post(struct tl_probe *p, struct tl_regs *regs, struct tl_thread *self)
{
	struct point *pt = p->data;

	(void)regs;
	(void)self;
	if (is_main)
		pt->posts++;
}

static int HANDLER on_entry(struct tl_ret_call *c, struct tl_regs *regs, struct tl_thread *self)
{
	struct ret *r = c->rp->data;

	(void)regs;
	(void)self;
	if (is_main)
		r->entries++;
	return 0;
}

static void HANDLER on_return(struct tl_ret_call *c, struct tl_regs *regs, struct tl_thread *self)
{
	struct ret *r = c->rp->data;

	(void)regs;
	(void)self;
	if (is_main)
		r->returns++;
}

/* --- what is to be seen ------------------------------------------------------------- */

static const struct item *entry_of(unsigned func)
{
	return &prog.item[prog.first[func]];
}

static void ask(unsigned func, uint64_t input)
{
	asked->func = func;
	churn_world(&asked->w, input);
	if (!oracle_run())
		fail("the oracle is gone", NULL);
}

static void check_counts(void)
{
	for (const struct point *pt = points; pt < points + POINTS; pt++) {
		const struct item *i = &prog.item[pt->item];
		uint32_t want = pt->registered && pt->enabled ? asked->count[pt->item] : 0;

		if (pt->hits != want)
			fail("hits", i);
		if (pt->probe.post && pt->posts != want)
			fail("hits behind", i);
	}
	for (unsigned f = 0; f < FUNCS; f++) {
		uint32_t want = rets[f].registered ? asked->count[prog.first[f]] : 0;

		if (rets[f].entries != want)
			fail("entries", entry_of(f));
		if (rets[f].returns != want)
			fail("returns", entry_of(f));
	}
}

static void forget_counts(void)
{
	for (unsigned i = 0; i < POINTS; i++)
		points[i].hits = points[i].posts = 0;
	for (unsigned f = 0; f < FUNCS; f++)
		rets[f].entries = rets[f].returns = 0;
}

static void check_run(unsigned func, uint64_t input)
{
	struct world w;

	ask(func, input);
	churn_world(&w, input);
	forget_counts();
	churn_call(churn_at(entry_of(func)), &w);
	if (memcmp(&w, &asked->w, sizeof(w)))
		fail("another result", entry_of(func));
	check_counts();
}

static void *work(void *arg)
{
	uint32_t x = (uint32_t)(uintptr_t)arg;

	while (!over) {
		unsigned func = (x = x * 1664525 + 1013904223) >> 8, input = func / FUNCS % INPUTS;
		struct world w;

		func %= FUNCS;
		churn_world(&w, input);
		churn_call(churn_at(entry_of(func)), &w);
		if (memcmp(&w, &bare[func][input], sizeof(w)))
			fail("another thread's result", entry_of(func));
	}
	return NULL;
}

/* --- foretold ---------------------------------------------------------------------- */

static struct point *point_of(struct tl_probe **list, size_t n, uintptr_t addr)
{
	for (size_t i = 0; i < n; i++)
		if ((uintptr_t)list[i]->addr == addr)
			return list[i]->data;
	return NULL;
}

struct told {
	struct tl_probe **list;
	size_t n;
	bool changed;
};

static void note(void *arg, const struct tl_site *s, const struct tl_plan *plan, int why)
{
	struct told *t = arg;
	struct point *pt = point_of(t->list, t->n, s->addr);
	unsigned rung = plan ? plan->rung : TL_RUNG_NONE;

	if (!pt)
		return; /* a neighbour that is planned anew */
	t->changed |= pt->foretold != rung || pt->why != why;
	pt->foretold = rung;
	pt->why = why;
}

/* Engine lock held; nobody else has a probe there. Where detours find room depends on what was reserved before. */
static void foretell(struct tl_probe **list, size_t n)
{
	struct told t = {list, n, true};
	struct tl_batch b;

	for (unsigned tries = 0; tries < 10 && t.changed; tries++) {
		t.changed = false;
		if (tl_batch_init(&b, n))
			fail("no memory", NULL);
		for (size_t i = 0; i < n; i++) {
			struct tl_site *s = tl_site_get((uintptr_t)list[i]->addr);

			s->want = true;
			s->flags = list[i]->flags;
			s->post = list[i]->post != NULL;
			s->func_start = list[i]->func_start;
			s->func_size = list[i]->func_size;
			tl_batch_add(&b, s);
		}
		tl_batch_foresee(&b, note, &t);
		for (size_t i = 0; i < b.nsites; i++)
			if (!b.sites[i]->probes)
				b.sites[i]->want = b.sites[i]->post = false;
		tl_batch_deinit(&b);
	}
}

/* Nobody can foretell who is still in an old detour, where the new one was to lie, or in the way of a window. */
static bool somebody_was_there(const struct tl_plan *plan, unsigned rung)
{
	return plan->why[rung] == -TL_E_OUT_OF_REACH || plan->why[rung] == -TL_E_BUSY;
}

static void check_foretold(struct tl_probe **list, size_t n)
{
	for (size_t i = 0; i < n; i++) {
		const struct point *pt = list[i]->data;
		const struct tl_plan *plan = list[i]->site->patch->plan;
		unsigned rung = plan->rung;

		if (rung != pt->foretold && !somebody_was_there(plan, pt->foretold)) {
			printf("# foretold rung %u (%d), stands on %u\n", pt->foretold, pt->why,
				rung);
			fail("not as foretold", &prog.item[pt->item]);
		}
		armed_on[rung]++;
	}
}

/* --- steps ---------------------------------------------------------------------------- */

static bool any_ret(void)
{
	for (unsigned f = 0; f < FUNCS; f++)
		if (rets[f].registered)
			return true;
	return false;
}

static bool any_leaves(void)
{
	for (unsigned i = 0; i < POINTS; i++)
		if (points[i].registered && points[i].act == ACT_LEAVE)
			return true;
	return false;
}

/* What takes the instruction away has it alone, and a jump must not cover what it goes on with. */
static void choose_act(struct point *pt, const struct item *i)
{
	bool entry = pt->item == prog.first[i->func];

	pt->act = ACT_NONE;
	if (taken[pt->item])
		return;
	if (!churn_random(5)) {
		pt->act = ACT_TWIST;
	} else if (!users[pt->item] && i->plain && !entry && !churn_random(8)) {
		pt->act = ACT_SKIP;
		pt->probe.flags |= TL_PROBE_NO_JUMP;
	} else if (!users[pt->item] && entry && !any_ret() && !churn_random(8)) {
		pt->act = ACT_LEAVE;
		pt->probe.flags |= TL_PROBE_REGS;
	}
}

static bool choose(struct point *pt, bool fresh)
{
	static const uint32_t flags[] = {0, 0, 0, TL_PROBE_REGS, TL_PROBE_BIG_STACK,
		TL_PROBE_NO_JUMP, TL_PROBE_REGS | TL_PROBE_BIG_STACK, TL_PROBE_DISABLED};
	unsigned near = churn_random(POINTS); /* neighbours get in each other's way */
	const struct item *i;

	pt->item = prog.nitems + churn_random(SITES - prog.nitems);
	if (points[near].registered && churn_random(3))
		pt->item = points[near].item + churn_random(4);
	if (pt->item >= SITES || taken[pt->item] > ACT_TWIST || (fresh && users[pt->item]))
		return false;
	i = &prog.item[pt->item];
	pt->probe = (struct tl_probe){.addr = churn_at(i),
		.pre = on_point,
		.post = i->plain && !churn_random(6) ? on_post : NULL,
		.data = pt,
		.flags = flags[churn_random(sizeof(flags) / sizeof(*flags))],
		.func_start = (uintptr_t)churn_at(entry_of(i->func))};
	i = &prog.item[prog.first[i->func + 1] - 1];
	pt->probe.func_size = (uint32_t)((uintptr_t)churn_at(i) + i->len - pt->probe.func_start);
	choose_act(pt, &prog.item[pt->item]);
	if (pt->act > ACT_TWIST)
		pt->probe.post = NULL;
	return true;
}

/* Its instruction is its own until it is removed. */
static void enter(struct point *pt)
{
	pt->registered = true;
	pt->enabled = !(pt->probe.flags & TL_PROBE_DISABLED);
	users[pt->item]++;
	taken[pt->item] |= (uint8_t)pt->act;
	if (pt->act && pt->enabled)
		asked->act[pt->item] = (uint8_t)pt->act;
}

static void leave(struct point *pt)
{
	pt->registered = pt->enabled = false;
	users[pt->item]--;
	if (pt->act)
		taken[pt->item] = asked->act[pt->item] = ACT_NONE;
}

/* A few of those that are registered or not. */
static size_t some(struct tl_probe **list, bool registered)
{
	size_t n = 0, max = 1 + churn_random(churn_random(3) ? 4 : BATCH);

	for (unsigned from = churn_random(POINTS), i = 0; i < POINTS && n < max; i++) {
		struct point *pt = &points[(from + i * 7) % POINTS];

		if (pt->registered == registered && churn_random(2))
			list[n++] = &pt->probe;
	}
	return n;
}

static void arm_some(void)
{
	struct tl_probe *list[BATCH];
	size_t n = some(list, false), kept = 0, failed = 0;
	bool fresh = churn_random(2) && !any_ret(); /* whose probes stand anywhere */
	int ret;

	for (size_t i = 0; i < n; i++) {
		struct point *pt = (struct point *)(void *)list[i];

		if (!choose(pt, fresh))
			continue;
		if (point_of(list, kept, (uintptr_t)pt->probe.addr))
			continue;
		list[kept++] = &pt->probe;
	}
	if (!kept)
		return;
	tl_os_lock();
	for (size_t i = 0; i < kept; i++)
		fresh &= !(list[i]->flags & TL_PROBE_DISABLED);
	if (fresh)
		foretell(list, kept);
	ret = tl_probes_register_locked(list, kept, &failed);
	if (!ret && fresh)
		check_foretold(list, kept);
	tl_os_unlock();
	if (ret) {
		printf("# %s\n", tl_error_text(ret));
		fail("refused", &prog.item[((struct point *)list[failed]->data)->item]);
	}
	for (size_t i = 0; i < kept; i++)
		enter(list[i]->data);
}

static void remove_list(struct tl_probe **list, size_t n)
{
	if (tl_probes_unregister(list, n))
		fail("not taken away", NULL);
	for (size_t i = 0; i < n; i++) {
		if (list[i]->nmissed)
			fail("missed hits", &prog.item[((struct point *)list[i]->data)->item]);
		leave(list[i]->data);
	}
}

static void remove_some(void)
{
	struct tl_probe *list[BATCH];
	size_t n = some(list, true);

	remove_list(list, n);
}

static void switch_some(void)
{
	struct tl_probe *list[BATCH];
	size_t n = some(list, true), failed;
	bool on = churn_random(2);

	if (n && (on ? tl_probes_enable(list, n, &failed) : tl_probes_disable(list, n)))
		fail("not switched", NULL);
	for (size_t i = 0; i < n; i++) {
		struct point *pt = list[i]->data;

		pt->enabled = on;
		if (pt->act)
			asked->act[pt->item] = on ? (uint8_t)pt->act : ACT_NONE;
	}
}

static void toggle_ret(void)
{
	unsigned f = churn_random(FUNCS);
	struct ret *r = &rets[f];
	const struct item *last = &prog.item[prog.first[f + 1] - 1];
	int ret;

	if (r->registered) {
		r->registered = false;
		if (tl_retprobe_unregister(&r->probe))
			fail("not taken away", entry_of(f));
		return;
	}
	if (any_leaves())
		return;
	r->part = (struct tl_func_part){(uintptr_t)churn_at(entry_of(f)),
		(uintptr_t)churn_at(last) + last->len - (uintptr_t)churn_at(entry_of(f))};
	r->probe = (struct tl_retprobe){.entry = churn_at(entry_of(f)),
		.on_entry = on_entry,
		.on_return = on_return,
		.data = r,
		.parts = &r->part,
		.nparts = 1};
	ret = tl_retprobe_register(&r->probe);
	if (ret)
		refused++;
	r->registered = !ret;
}

static void remove_all(void)
{
	struct tl_probe *list[POINTS];
	size_t n = 0;

	for (unsigned f = 0; f < FUNCS; f++) {
		if (rets[f].registered && tl_retprobe_unregister(&rets[f].probe))
			fail("not taken away", entry_of(f));
		rets[f].registered = false;
	}
	for (unsigned i = 0; i < POINTS; i++)
		if (points[i].registered)
			list[n++] = &points[i].probe;
	remove_list(list, n);
	if (memcmp(churn_text, pristine, TEXT_SIZE))
		fail("the text is another one", NULL);
}

static void one_step(void)
{
	/* not STORE, which this processor need not bear */
	static const enum tl_patching patchings[] = {
		TL_PATCHING_AUTO, TL_PATCHING_SPIN, TL_PATCHING_STOP};

	switch (churn_random(16)) {
	case 0:
	case 1:
	case 2:
	case 3:
	case 4:
		arm_some();
		break;
	case 5:
	case 6:
	case 7:
		remove_some();
		break;
	case 8:
	case 9:
		switch_some();
		break;
	case 10:
		if (tl_probes_optimize(churn_random(4)))
			fail("not optimized", NULL);
		break;
	case 11:
		tl_probes_patching(patchings[churn_random(3)]);
		break;
	case 12:
		if (!churn_random(4))
			remove_all();
		break;
	default:
		toggle_ret();
	}
}

/* --- one program ---------------------------------------------------------------------- */

static void start(void)
{
	churn_seed(seed);
	churn_write(&prog);
	memcpy(pristine, churn_text, TEXT_SIZE);
	asked = oracle_start(&prog);
	if (!asked)
		fail("no oracle", NULL);
	for (unsigned f = 0; f < FUNCS; f++)
		for (unsigned i = 0; i < INPUTS; i++) {
			ask(f, i);
			bare[f][i] = asked->w;
			check_run(f, i);
		}
	if (tl_engine_init())
		fail("no engine", NULL);
}

static void one_program(unsigned steps)
{
	pthread_t worker[WORKERS];

	is_main = true;
	start();
	for (uintptr_t i = 0; i < WORKERS; i++)
		if (pthread_create(&worker[i], NULL, work, (void *)(i + 1)))
			fail("no thread", NULL);
	for (step = 1; step <= steps; step++) {
		one_step();
		for (unsigned i = 0; i < RUNS; i++)
			check_run(churn_random(FUNCS), churn_random(1000));
	}
	remove_all();
	over = true;
	for (unsigned i = 0; i < WORKERS; i++)
		pthread_join(worker[i], NULL);
	if (!tl_engine_exit())
		fail("something stays", NULL);
	oracle_end();
	printf("# seed %lu: %u instructions; whole %u, pun %u, evict %u, window %u, retarget %u, "
	       "trap %u; %u return probes refused\n",
		(unsigned long)seed, SITES - prog.nitems, armed_on[TL_RUNG_WHOLE],
		armed_on[TL_RUNG_PUN], armed_on[TL_RUNG_EVICT], armed_on[TL_RUNG_WINDOW],
		armed_on[TL_RUNG_RETARGET], armed_on[TL_RUNG_TRAP], refused);
}

int main(int argc, char **argv)
{
	unsigned seeds = argc > 1 ? (unsigned)atoi(argv[1]) : 4,
		 first = argc > 2 ? (unsigned)atoi(argv[2]) : 1,
		 steps = argc > 3 ? (unsigned)atoi(argv[3]) : STEPS, bad = 0;

	for (seed = first; seed < first + seeds; seed++) {
		int status;
		pid_t pid;

		fflush(stdout);
		pid = seeds > 1 ? fork() : 0; /* one alone: for a debugger */
		if (!pid) {
			one_program(steps);
			exit(0);
		}
		if (waitpid(pid, &status, 0) != pid || status) {
			printf("# again: churn 1 %lu %u\n", (unsigned long)seed, steps);
			bad++;
		}
	}
	printf(bad ? "not ok churn: %u of %u programs\n" : "ok churn\n", bad, seeds);
	return bad != 0;
}
