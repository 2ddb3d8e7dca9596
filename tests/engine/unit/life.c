/* SPDX-License-Identifier: MIT */
/* The life cycle of probes, aggregation, switching on and off, the list. */
#include "machine.h"

static struct cpu cpu;

static bool runs_right(void)
{
	cpu_init(&cpu, 0, 0);
	return run(&cpu) && cpu.r[0] == 7 && cpu.r[1] == 9 && cpu.r[2] == UINT32_MAX;
}

static void one_probe_counts_and_leaves_no_trace(void)
{
	struct tl_probe p;

	five_instructions();
	p = probe_at(0, 14, count_hit);
	CHECK(tl_probe_register(&p) == 0);
	CHECK(p.state == TL_PROBE_ARMED);
	CHECK(fake_text[0] == TOY_JMP);
	CHECK(runs_right() && hits == 1);
	CHECK(runs_right() && hits == 2);
	CHECK(tl_probe_unregister(&p) == 0);
	CHECK(p.state == TL_PROBE_GONE && !p.site);
	CHECK(runs_right() && hits == 2);
	CHECK(left_clean());
}

static int bump(struct tl_probe *p, struct tl_regs *regs, struct tl_thread *self)
{
	(void)p;
	(void)self;
#if defined(__x86_64__)
	regs->ax += 100;
#else
	regs->gpr[0] += 100;
#endif
	return 0;
}

static int skip_insn(struct tl_probe *p, struct tl_regs *regs, struct tl_thread *self)
{
	(void)p;
	(void)self;
	TL_REGS_IP(regs) += 6;
	return 1;
}

static void handlers_change_registers_and_the_way(void)
{
	struct tl_probe p, q;

	five_instructions();
	p = probe_at(0, 14, bump);
	CHECK(tl_probe_register(&p) == 0);
	cpu_init(&cpu, 0, 0);
	CHECK(run(&cpu) && cpu.r[0] == 107);
	CHECK(tl_probe_unregister(&p) == 0);
	q = probe_at(0, 14, skip_insn);
	CHECK(tl_probe_register(&q) == 0);
	cpu_init(&cpu, 0, 0);
	CHECK(run(&cpu) && cpu.r[0] == 0 && cpu.r[1] == 9);
	CHECK(tl_probe_unregister(&q) == 0);
	CHECK(left_clean());
}

static unsigned posts;
static uint32_t r0_after;

static void count_post(struct tl_probe *p, struct tl_regs *regs, struct tl_thread *self)
{
	(void)p;
	(void)self;
#if defined(__x86_64__)
	r0_after = (uint32_t)regs->ax;
#else
	r0_after = (uint32_t)regs->gpr[0];
#endif
	posts++;
}

static void post_handlers_see_the_result(void)
{
	struct tl_probe p, q;

	five_instructions();
	posts = 0;
	p = probe_at(0, 14, NULL);
	p.post = count_post;
	q = probe_at(0, 14, count_hit);
	CHECK(tl_probe_register(&q) == 0); /* light first: the detour has to be exchanged */
	CHECK(tl_probe_register(&p) == 0);
	CHECK(runs_right() && posts == 1 && hits == 1 && r0_after == 7);
	CHECK(tl_probe_unregister(&q) == 0);
	CHECK(runs_right() && posts == 2 && hits == 1);
	CHECK(tl_probe_unregister(&p) == 0);
	CHECK(runs_right() && posts == 2);
	CHECK(left_clean());
}

static bool all_right;

/* Whoever comes by while the detour is exchanged for one that calls a post handler, or back. */
static void comes_by(enum fake_event what)
{
	(void)what;
	cpu_init(&cpu, 0, 0);
	for (unsigned i = 0; i < 100 && cpu.thread->pc != HALT; i++)
		step(&cpu);
	all_right &= !cpu.dead;
	fake.threads[0].used = false;
}

static void post_handlers_come_and_go_under_way(void)
{
	struct tl_probe p, q;

	five_instructions();
	p = probe_at(0, 14, count_hit);
	p.post = count_post;
	q = probe_at(0, 14, count_hit);
	CHECK(tl_probe_register(&q) == 0);
	all_right = true;
	fake.on_event = comes_by;
	for (unsigned i = 0; i < 3; i++) {
		CHECK(tl_probe_register(&p) == 0);
		CHECK(tl_probe_unregister(&p) == 0);
	}
	fake.on_event = NULL;
	CHECK(all_right && hits > 6);
	CHECK(tl_probe_unregister(&q) == 0);
	CHECK(left_clean());
}

static void many_probes_at_one_place(void)
{
	struct tl_probe p[3];
	unsigned n[3] = {0, 0, 0};

	five_instructions();
	for (unsigned i = 0; i < 3; i++) {
		p[i] = probe_at(0, 14, count_hit);
		p[i].data = &n[i];
		CHECK(tl_probe_register(&p[i]) == 0);
	}
	CHECK(runs_right() && n[0] == 1 && n[1] == 1 && n[2] == 1);
	CHECK(tl_probe_disable(&p[1]) == 0 && p[1].state == TL_PROBE_OFF);
	CHECK(runs_right() && n[0] == 2 && n[1] == 1 && n[2] == 2);
	CHECK(tl_probe_unregister(&p[0]) == 0);
	CHECK(runs_right() && n[0] == 2 && n[1] == 1 && n[2] == 3);
	CHECK(tl_probe_enable(&p[1]) == 0);
	CHECK(tl_probe_disable(&p[2]) == 0);
	CHECK(runs_right() && n[1] == 2 && n[2] == 3);
	CHECK(tl_probe_unregister(&p[1]) == 0);
	CHECK(!memcmp(before, fake_text, FAKE_TEXT)); /* only a probe that is off remains */
	CHECK(tl_probe_unregister(&p[2]) == 0);
	CHECK(left_clean());
}

static void disabled_from_the_start(void)
{
	struct tl_probe p;

	five_instructions();
	p = probe_at(0, 14, count_hit);
	p.flags = TL_PROBE_DISABLED;
	CHECK(tl_probe_register(&p) == 0 && p.state == TL_PROBE_OFF);
	CHECK(!memcmp(before, fake_text, FAKE_TEXT));
	CHECK(tl_probe_enable(&p) == 0);
	CHECK(runs_right() && hits == 1);
	CHECK(tl_probe_unregister(&p) == 0);
	p = probe_at(3, 14, count_hit); /* refusals come at once, not when it is switched on */
	p.flags = TL_PROBE_DISABLED;
	CHECK(tl_probe_register(&p) == -TL_E_NOT_BOUNDARY);
	CHECK(left_clean());
}

static void many_are_switched_at_once(void)
{
	struct tl_probe p, q, r, *all[] = {&p, &q, &r, &p};
	size_t failed = 99;

	five_instructions();
	p = probe_at(0, 14, count_hit);
	q = probe_at(6, 14, count_hit);
	r = probe_at(0, 14, count_hit);
	p.flags = q.flags = TL_PROBE_DISABLED;
	CHECK(tl_probes_register(all, 3, NULL) == 0);
	CHECK(runs_right() && hits == 1);
	fake.fail_text = true;
	CHECK(tl_probes_enable(all, 4, NULL) == -TL_E_TEXT_RO);
	fake.fail_text = false;
	CHECK(p.state == TL_PROBE_OFF && q.state == TL_PROBE_OFF && r.state == TL_PROBE_ARMED);
	CHECK(runs_right() && hits == 2);
	CHECK(tl_probes_enable(all, 4, NULL) == 0); /* the third is on, the first is named twice */
	CHECK(runs_right() && hits == 5);
	CHECK(tl_probes_disable(all, 4) == 0 && !memcmp(before, fake_text, FAKE_TEXT));
	CHECK(tl_probe_unregister(&q) == 0);
	CHECK(tl_probes_enable(all, 3, &failed) == -TL_E_STATE && failed == 1);
	CHECK(p.state == TL_PROBE_OFF && !memcmp(before, fake_text, FAKE_TEXT));
	CHECK(tl_probe_unregister(&p) == 0 && tl_probe_unregister(&r) == 0);
	CHECK(left_clean());
}

static void refusals_change_nothing(void)
{
	struct tl_probe p, q, *both[2] = {&p, &q};
	size_t failed = 99;

	five_instructions();
	p = probe_at(0, 14, count_hit);
	q = probe_at(3, 14, count_hit);
	CHECK(tl_probes_register(both, 2, &failed) == -TL_E_NOT_BOUNDARY && failed == 1);
	CHECK(p.state == TL_PROBE_NEW && q.state == TL_PROBE_NEW && !p.site);
	CHECK(!memcmp(before, fake_text, FAKE_TEXT));
	q.addr = (void *)(uintptr_t)8; /* no image there, nor the function */
	CHECK(tl_probe_register(&q) == -TL_E_INVAL);
	q.func_size = 0;
	CHECK(tl_probe_register(&q) == -TL_E_NOT_TEXT);
	q = (struct tl_probe){.addr = (void *)TEXT(0), .pre = count_hit};
	CHECK(tl_probe_register(&q) == -TL_E_NOT_PROVEN);
	q = probe_at(0, 14, NULL);
	CHECK(tl_probe_register(&q) == -TL_E_INVAL);
	CHECK(tl_probe_register(&p) == 0);
	CHECK(tl_probe_register(&p) == -TL_E_STATE);
	CHECK(tl_probe_unregister(&p) == 0);
	CHECK(tl_probe_unregister(&p) == -TL_E_STATE);
	fake.fail_text = true;
	CHECK(tl_probe_register(&p) == -TL_E_TEXT_RO && p.state == TL_PROBE_NEW);
	fake.fail_text = false;
	CHECK(tl_probe_register(&p) == 0 && runs_right() && hits == 1);
	CHECK(tl_probe_unregister(&p) == 0);
	CHECK(left_clean());
}

static void silence_keeps_the_text(void)
{
	struct tl_probe p;

	five_instructions();
	p = probe_at(0, 14, count_hit);
	CHECK(tl_probe_register(&p) == 0);
	tl_probes_silence(true);
	CHECK(runs_right() && hits == 0 && fake_text[0] == TOY_JMP);
	tl_probes_silence(false);
	CHECK(runs_right() && hits == 1);
	CHECK(tl_probe_unregister(&p) == 0);
	CHECK(left_clean());
}

static void on_and_off_forever_takes_no_memory(void)
{
	struct tl_probe p;
	size_t live, code;

	five_instructions();
	p = probe_at(6, 14, count_hit);
	CHECK(tl_probe_register(&p) == 0);
	CHECK(tl_probe_disable(&p) == 0 && tl_probe_enable(&p) == 0);
	live = fake.live;
	code = fake_count(FAKE_CODE_WRITE);
	for (unsigned i = 0; i < 2000; i++) {
		CHECK(tl_probe_disable(&p) == 0 && tl_probe_enable(&p) == 0);
		fake.nlog = 0;
		CHECK(tl_probe_disable(&p) == 0 && tl_probe_enable(&p) == 0);
		CHECK(fake_count(FAKE_CODE_WRITE) == 0); /* the same detour again */
	}
	CHECK(code > 0 && fake.live == live);
	CHECK(tl_probe_unregister(&p) == 0);
	for (unsigned i = 0; i < 2000; i++) {
		CHECK(tl_probe_register(&p) == 0 && tl_probe_unregister(&p) == 0);
		fake.nlog = 0;
	}
	CHECK(fake.live <= live);
	CHECK(left_clean());
}

static uintptr_t listed[8];
static unsigned nlisted;

static int list_one(const struct tl_probe_info *info, void *arg)
{
	(void)arg;
	if (nlisted < 8)
		listed[nlisted] = info->addr;
	nlisted++;
	return info->rung == TL_RUNG_NONE;
}

static void the_list_is_in_address_order(void)
{
	struct tl_probe p, q, *both[2] = {&p, &q};

	five_instructions();
	p = probe_at(8, 14, count_hit);
	q = probe_at(0, 14, count_hit);
	CHECK(tl_probes_register(both, 2, NULL) == 0);
	nlisted = 0;
	CHECK(tl_probes_list(list_one, NULL) == 0);
	CHECK(nlisted == 2 && listed[0] == TEXT(0) && listed[1] == TEXT(8));
	CHECK(tl_probes_unregister(both, 2) == 0);
	CHECK(left_clean());
}

static void exit_takes_everything_away(void)
{
	struct tl_probe p, q, r;

	five_instructions();
	p = probe_at(0, 14, count_hit);
	q = probe_at(0, 14, count_hit);
	r = probe_at(8, 14, count_hit);
	CHECK(tl_probe_register(&p) == 0 && tl_probe_register(&q) == 0 &&
		tl_probe_register(&r) == 0);
	CHECK(left_clean());
	CHECK(p.state == TL_PROBE_GONE && q.state == TL_PROBE_GONE && r.state == TL_PROBE_GONE);
}

static void errors_have_names(void)
{
	for (int i = 0; i < TL_E_COUNT; i++)
		CHECK(tl_error_name(i)[0] && tl_error_text(-i)[0] && tl_error_next(i));
	CHECK(!strcmp(tl_error_name(-TL_E_BUSY), "BUSY"));
	CHECK(!strcmp(tl_error_name(TL_E_COUNT), "UNKNOWN") &&
		!strcmp(tl_error_name(-12345), "UNKNOWN"));
}

static void no_image(void)
{
	tl_image_remove(TEXT(0));
}

static int closed(void)
{
	no_image();
	return 0;
}

static int closed_and_opened(void)
{
	no_image();
	return whole_text();
}

/* The library goes; what is mapped there later is not touched, and starts clean. */
static void text_that_is_unmapped_takes_its_probes_along(void)
{
	struct tl_probe p, off, *both[] = {&p, &off};

	for (int traps = 0; traps < 2; traps++) {
		five_instructions();
		p = probe_at(0, 14, count_hit);
		off = probe_at(6, 14, count_hit);
		p.flags = traps ? TL_PROBE_NO_JUMP : 0;
		off.flags = TL_PROBE_DISABLED;
		CHECK(tl_probes_register(both, 2, NULL) == 0);
		fake.images_stale = true;
		fake.images = closed;
		memset(fake_text, 0xee, 64);
		CHECK(tl_probe_disable(&off) == -TL_E_STATE && off.state == TL_PROBE_GONE);
		fake.images_stale = false;
		CHECK(p.state == TL_PROBE_GONE && fake_text[0] == 0xee &&
			!fake_trap_target(TEXT(0)));
		fake.images = whole_text;
		memcpy(fake_text, before, sizeof(before));
		CHECK(tl_probes_unregister(both, 2) == 0);
		CHECK(tl_probe_unregister(&p) == -TL_E_STATE);
		CHECK(tl_probe_register(&p) == 0 && p.state == TL_PROBE_ARMED);
		CHECK(runs_right() && hits == 1);
		CHECK(tl_probe_unregister(&p) == 0);
		CHECK(left_clean());
	}
}

/* Closed and opened again at the same place before anybody looked. */
static void the_same_text_mapped_anew_is_not_restored(void)
{
	struct tl_probe p, q;

	for (int told = 0; told < 2; told++) {
		five_instructions();
		p = probe_at(0, 14, count_hit);
		q = probe_at(10, 14, count_hit);
		CHECK(tl_probe_register(&p) == 0 && tl_probe_register(&q) == 0);
		fake.images_stale = told;
		fake.images = closed_and_opened;
		memcpy(fake_text, before, sizeof(before));
		fake_text[0] = TOY_SET; /* another version */
		CHECK(tl_probe_unregister(&p) == 0);
		fake.images_stale = false;
		CHECK(p.state == TL_PROBE_GONE && q.state == TL_PROBE_GONE);
		CHECK(fake_text[0] == TOY_SET && !memcmp(fake_text + 1, before + 1, 60));
		CHECK(tl_probe_unregister(&q) == 0);
		fake_text[0] = before[0];
		CHECK(tl_probe_register(&q) == 0);
		CHECK(runs_right() && hits == 1);
		CHECK(tl_probe_unregister(&q) == 0);
		CHECK(left_clean());
	}
}

static size_t reach;

static int text_as_far(void)
{
	struct tl_image img = {.lo = TEXT(0), .hi = TEXT(reach), .name = "toy"};

	return tl_image_add(&img);
}

/* A page of it is protected, or is so no more: the others are what they were. */
static void text_that_shrinks_and_grows_is_the_same(void)
{
	static const size_t reaches[] = {32, 4096, 32};
	struct tl_probe p;

	five_instructions();
	p = probe_at(0, 14, count_hit);
	fake.images = text_as_far;
	reach = 64;
	CHECK(tl_probe_register(&p) == 0);
	fake.images_stale = true;
	for (size_t i = 0; i < sizeof(reaches) / sizeof(*reaches); i++) {
		reach = reaches[i];
		tl_text_look();
		CHECK(p.state == TL_PROBE_ARMED);
	}
	fake.images_stale = false;
	CHECK(runs_right() && hits == 1);
	CHECK(tl_probe_unregister(&p) == 0);
	CHECK(left_clean());
}

int main(void)
{
	RUN(one_probe_counts_and_leaves_no_trace);
	RUN(handlers_change_registers_and_the_way);
	RUN(post_handlers_see_the_result);
	RUN(post_handlers_come_and_go_under_way);
	RUN(many_probes_at_one_place);
	RUN(disabled_from_the_start);
	RUN(many_are_switched_at_once);
	RUN(refusals_change_nothing);
	RUN(silence_keeps_the_text);
	RUN(on_and_off_forever_takes_no_memory);
	RUN(the_list_is_in_address_order);
	RUN(exit_takes_everything_away);
	RUN(errors_have_names);
	RUN(text_that_is_unmapped_takes_its_probes_along);
	RUN(the_same_text_mapped_anew_is_not_restored);
	RUN(text_that_shrinks_and_grows_is_the_same);
	return UNIT_RESULT();
}
