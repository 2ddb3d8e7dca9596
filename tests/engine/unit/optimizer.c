/* SPDX-License-Identifier: MIT */
/* The optimizer: who waits for it, what it does for them, and when it gives up. */
#include "machine.h"

static struct cpu cpu;

/* 0: set r1,9 (3)  3: call 16 (5)  8: inc r0 (2)  10: dec r2 (2)  12: inc r0 (2)  14: ret | 16: ret */
static void program(bool in_background)
{
	world();
	E(TOY_SET, 1, 9);
	emit_rel32(TOY_CALL, 16);
	E(TOY_INC, 0, TOY_DEC, 2, TOY_INC, 0, TOY_RET, TOY_NOP, TOY_RET);
	memcpy(before, fake_text, FAKE_TEXT);
	fake.has_later = in_background;
	hits = 0;
}

static struct tl_probe at(size_t off)
{
	return probe_at(off, 17, count_hit);
}

static uint32_t rung_of(const struct tl_probe *p)
{
	return p->site->patch->plan->rung;
}

static bool runs_right(void)
{
	cpu_init(&cpu, 0, 0);
	return run(&cpu) && cpu.r[0] == 2 && cpu.r[1] == 9 && cpu.r[2] == UINT32_MAX;
}

/* (The toy machine does not come back to a call's detour: it is not run.) */
static void post(struct tl_probe *p, struct tl_regs *regs, struct tl_thread *self)
{
	(void)p;
	(void)regs;
	(void)self;
}

static void who_stood_beside_one_that_left_is_optimized_later(void)
{
	struct tl_probe p, q;

	program(true);
	p = at(3); /* the call, retargeted: a window of q would cover it */
	q = at(0);
	CHECK(tl_probe_register(&p) == 0 && tl_probe_register(&q) == 0);
	CHECK(rung_of(&q) == TL_RUNG_TRAP && fake.nlater == 0);
	CHECK(tl_probe_unregister(&p) == 0);
	CHECK(rung_of(&q) == TL_RUNG_TRAP && fake.nlater == 1);
	CHECK(runs_right() && hits == 1);
	CHECK(tl_optimizer_run() == 0 && rung_of(&q) == TL_RUNG_WINDOW);
	CHECK(runs_right() && hits == 2);
	CHECK(tl_optimizer_run() == 0 && fake.nlater == 1);
	CHECK(tl_probe_unregister(&q) == 0);
	CHECK(left_clean());
}

static void who_leaves_while_it_waits_is_forgotten(void)
{
	struct tl_probe p, q;

	program(true);
	p = at(3);
	q = at(0);
	CHECK(tl_probe_register(&p) == 0 && tl_probe_register(&q) == 0);
	CHECK(tl_probe_unregister(&p) == 0 && tl_probe_unregister(&q) == 0);
	CHECK(fake.nlater == 1 && tl_optimizer_run() == 0);
	CHECK(tl_probe_register(&p) == 0 && tl_probe_register(&q) == 0);
	CHECK(tl_probe_unregister(&p) == 0 && fake.nlater == 2);
	CHECK(left_clean()); /* the engine's end takes q away */
}

static void a_post_handler_comes_and_goes(void)
{
	for (int later = 0; later < 2; later++) {
		struct tl_probe p, q;

		program(later);
		p = at(3);
		q = at(3);
		q.post = post;
		CHECK(tl_probe_register(&p) == 0 && rung_of(&p) == TL_RUNG_RETARGET);
		CHECK(tl_probe_register(&q) == 0 && rung_of(&p) == TL_RUNG_WHOLE); /* at once */
		CHECK(runs_right() && hits == 2);
		CHECK(tl_probe_disable(&q) == 0);
		CHECK(rung_of(&p) == (later ? TL_RUNG_WHOLE : TL_RUNG_RETARGET));
		CHECK(runs_right() && hits == 3);
		CHECK(tl_optimizer_run() == 0 && rung_of(&p) == TL_RUNG_RETARGET);
		CHECK(runs_right() && hits == 4);
		CHECK(tl_probe_enable(&q) == 0 && rung_of(&p) == TL_RUNG_WHOLE);
		CHECK(runs_right() && hits == 6);
		CHECK(tl_probe_unregister(&q) == 0);
		CHECK(tl_optimizer_run() == 0 && rung_of(&p) == TL_RUNG_RETARGET);
		CHECK(tl_probe_unregister(&p) == 0);
		CHECK(left_clean());
	}
}

static void registers_that_nobody_wants_are_not_saved(void)
{
	struct tl_probe p, q;

	program(false);
	p = at(8);
	q = at(8);
	q.flags = TL_PROBE_REGS;
	CHECK(tl_probe_register(&p) == 0 && tl_probe_register(&q) == 0);
	CHECK(tl_site_point(p.site)->flags & TL_PROBE_REGS);
	CHECK(tl_probe_unregister(&q) == 0);
	CHECK(!(tl_site_point(p.site)->flags & TL_PROBE_REGS));
	CHECK(runs_right() && hits == 1);
	CHECK(tl_probe_unregister(&p) == 0);
	CHECK(left_clean());
}

/* A thread inside the old detour would come back into the middle of the window. */
static void one_in_the_way(struct tl_probe *p, bool in_background)
{
	program(in_background);
	CHECK(tl_engine_init() == 0 && tl_probes_optimize(false) == 0);
	*p = at(8);
	CHECK(tl_probe_register(p) == 0 && rung_of(p) == TL_RUNG_TRAP);
	fake.threads[5] = (struct fake_thread){
		.used = true, .tid = 105, .pc = p->site->patch->detour->at + 9};
	CHECK(tl_probes_optimize(true) == 0 && rung_of(p) == TL_RUNG_TRAP);
}

static void who_had_somebody_in_the_way_is_tried_again(void)
{
	struct tl_probe p;

	one_in_the_way(&p, true);
	CHECK(fake.nlater == 1);
	for (int i = 0; i < 3; i++)
		CHECK(tl_optimizer_run() == 1 && rung_of(&p) == TL_RUNG_TRAP);
	fake.threads[5].used = false;
	CHECK(tl_optimizer_run() == 0 && rung_of(&p) == TL_RUNG_WINDOW);
	CHECK(runs_right() && hits == 1);
	CHECK(tl_probe_unregister(&p) == 0);
	CHECK(left_clean());
}

static void it_gives_up_where_somebody_stays(void)
{
	struct tl_probe p;
	int runs = 1;

	one_in_the_way(&p, true);
	while (tl_optimizer_run() && runs < 100)
		runs++;
	CHECK(runs == 10 && rung_of(&p) == TL_RUNG_TRAP);
	fake.threads[5].used = false;
	CHECK(tl_probe_disable(&p) == 0 && tl_probe_enable(&p) == 0);
	CHECK(rung_of(&p) == TL_RUNG_WINDOW);
	CHECK(tl_probe_unregister(&p) == 0);
	CHECK(left_clean());
	one_in_the_way(&p, false); /* nobody to call it later: nobody waits */
	CHECK(tl_optimizer_run() == 0);
	fake.threads[5].used = false;
	CHECK(tl_probe_unregister(&p) == 0);
	CHECK(left_clean());
}

static void the_knob_empties_the_queue(void)
{
	struct tl_probe p, q;

	program(true);
	p = at(3);
	q = at(0);
	CHECK(tl_probe_register(&p) == 0 && tl_probe_register(&q) == 0);
	CHECK(tl_probe_unregister(&p) == 0);
	CHECK(tl_probes_optimize(false) == 0);
	CHECK(tl_optimizer_run() == 0 && rung_of(&q) == TL_RUNG_TRAP);
	CHECK(tl_probes_optimize(true) == 0 && rung_of(&q) == TL_RUNG_TRAP);
	CHECK(tl_optimizer_run() == 0 && rung_of(&q) == TL_RUNG_WINDOW);
	CHECK(tl_probe_unregister(&q) == 0);
	CHECK(left_clean());
}

enum { MANY = 300 };

static bool all_stand(const struct tl_probe *p, uint32_t rung)
{
	for (unsigned i = 0; i < MANY; i++)
		if (rung_of(&p[i]) != rung)
			return false;
	return true;
}

/* More than one batch: between them others may have the engine. */
static void many_go_in_batches(void)
{
	static struct tl_probe calls[MANY], sets[MANY];
	struct tl_probe *list[MANY];

	world();
	for (unsigned i = 0; i < MANY; i++) {
		E(TOY_SET, 1, 9);
		emit_rel32(TOY_CALL, MANY * 8 + 1);
	}
	E(TOY_RET, TOY_RET);
	memcpy(before, fake_text, FAKE_TEXT);
	fake.has_later = true;
	for (unsigned i = 0; i < MANY; i++) {
		sets[i] = probe_at(8 * i, text_end, count_hit);
		calls[i] = probe_at(8 * i + 3, text_end, count_hit);
	}
	for (unsigned i = 0; i < MANY; i++)
		list[i] = &calls[i];
	CHECK(tl_probes_register(list, MANY, NULL) == 0 && all_stand(calls, TL_RUNG_RETARGET));
	for (unsigned i = 0; i < MANY; i++)
		list[i] = &sets[i];
	CHECK(tl_probes_register(list, MANY, NULL) == 0 && all_stand(sets, TL_RUNG_TRAP));
	for (unsigned i = 0; i < MANY; i++)
		list[i] = &calls[i];
	CHECK(tl_probes_unregister(list, MANY) == 0 && fake.nlater == 1);
	fake.nlog = 0;
	CHECK(tl_optimizer_run() == MANY - 256 && tl_optimizer_run() == 0);
	CHECK(fake_count(FAKE_OPEN) == 2 && all_stand(sets, TL_RUNG_WINDOW));
	for (unsigned i = 0; i < MANY; i++)
		list[i] = &sets[i];
	CHECK(tl_probes_unregister(list, MANY) == 0);
	CHECK(left_clean());
}

int main(void)
{
	RUN(who_stood_beside_one_that_left_is_optimized_later);
	RUN(who_leaves_while_it_waits_is_forgotten);
	RUN(a_post_handler_comes_and_goes);
	RUN(registers_that_nobody_wants_are_not_saved);
	RUN(who_had_somebody_in_the_way_is_tried_again);
	RUN(it_gives_up_where_somebody_stays);
	RUN(the_knob_empties_the_queue);
	RUN(many_go_in_batches);
	return UNIT_RESULT();
}
