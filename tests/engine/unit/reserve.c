/* SPDX-License-Identifier: MIT */
/* Reserved text on the toy machine: refusals with their reasons, and who stands in the way. */
#include "machine.h"
#include <trapless/reserve.h>

/*
 * 0 addi r0,7 | 6 inc r1 | 8 dec r2 | 10 set r1,8 | 13 nop | 14 nop | 15 nop | 16 addi r0,1 | 22 ret
 */
static void function(void)
{
	world();
	E(TOY_ADDI, 0, 7, 0, 0, 0, TOY_INC, 1, TOY_DEC, 2, TOY_SET, 1, 8);
	E(TOY_NOP, TOY_NOP, TOY_NOP, TOY_ADDI, 0, 1, 0, 0, 0, TOY_RET);
	hits = 0;
}

static bool clean(void)
{
	return tl_engine_exit() && !fake.live && !fake.locked;
}

static struct tl_probe at(size_t off)
{
	return probe_at(off, text_end, count_hit);
}

static struct tl_reservation range(size_t lo, size_t hi, enum tl_reserve kind, const char *why)
{
	return (struct tl_reservation){
		.start = TEXT(lo), .size = hi - lo, .kind = kind, .reason = why};
}

static int ask(size_t off, bool returns, struct tl_refusal *out)
{
	return tl_text_refusal((void *)TEXT(off), returns, TEXT(0), text_end, out);
}

static enum tl_rung rung_of(const struct tl_probe *p)
{
	return (enum tl_rung)p->site->patch->plan->rung;
}

static void reserved_places_are_refused_with_the_reason(void)
{
	struct tl_reservation text = range(6, 8, TL_RESERVE_TEXT, "a jump label");
	struct tl_reservation code = range(10, 16, TL_RESERVE_PROBE, NULL);
	struct tl_refusal why;
	struct tl_probe p;

	function();
	CHECK(ask(6, false, &why) == 0 && !why.why);
	CHECK(tl_text_reserve(&text, NULL) == 0 && tl_text_reserve(&code, NULL) == 0);
	p = at(6);
	CHECK(tl_probe_register(&p) == -TL_E_RESERVED);
	CHECK(ask(6, false, &why) == -TL_E_RESERVED && why.why == -TL_E_RESERVED);
	CHECK(why.start == TEXT(6) && why.size == 2 && !strcmp(why.reason, "a jump label"));
	p = at(14);
	CHECK(tl_probe_register(&p) == -TL_E_BLACKLIST);
	CHECK(ask(14, false, &why) == -TL_E_BLACKLIST && why.start == TEXT(10) && why.size == 6);
	CHECK(!strcmp(why.reason, tl_error_text(-TL_E_BLACKLIST)));
	CHECK(ask(11, false, &why) < 0); /* nothing begins there either */
	CHECK(ask(16, false, &why) == 0);
	CHECK(ask(1, false, &why) == -TL_E_NOT_BOUNDARY && why.size == 0);
	CHECK(!strcmp(why.reason, tl_error_text(-TL_E_NOT_BOUNDARY)));
	CHECK(tl_text_refusal((void *)TEXT(FAKE_TEXT), false, 0, 0, &why) == -TL_E_NOT_TEXT);
	CHECK(tl_text_release(&text) == 0);
	p = at(6);
	CHECK(tl_probe_register(&p) == 0);
	CHECK(tl_probe_unregister(&p) == 0);
	CHECK(clean());
}

static void take_first_place(enum fake_event what)
{
	if (what != FAKE_OPEN)
		return;
	fake.reserved_lo = TEXT(0);
	fake.reserved_hi = TEXT(6);
}

/* Others may come between plan and text: once it is open they cannot any more. */
static void who_comes_while_we_plan_is_seen(void)
{
	struct tl_probe p;

	function();
	p = at(0);
	fake.on_event = take_first_place;
	CHECK(tl_probe_register(&p) == -TL_E_RESERVED);
	for (size_t i = 0; i < fake.nlog; i++)
		CHECK(fake.log[i].what != FAKE_STORE && fake.log[i].what != FAKE_STOPPED_STORE);
	fake.on_event = NULL;
	fake.reserved_lo = fake.reserved_hi = 0;
	CHECK(tl_probe_register(&p) == 0);
	CHECK(tl_probe_unregister(&p) == 0);
	CHECK(clean());
}

/* The instruction at 0 has six bytes: its copy would be out of date when they change. */
static void an_instruction_that_reaches_into_a_range(void)
{
	struct tl_reservation r = range(4, 6, TL_RESERVE_TEXT, NULL);
	struct tl_probe p;

	function();
	p = at(0);
	CHECK(tl_text_reserve(&r, NULL) == 0);
	CHECK(tl_probe_register(&p) == -TL_E_RESERVED);
	CHECK(tl_text_release(&r) == 0);
	CHECK(tl_probe_register(&p) == 0);
	CHECK(tl_text_reserve(&r, NULL) == -TL_E_PROBED);
	CHECK(tl_probe_unregister(&p) == 0);
	CHECK(clean());
}

static void bad_ranges(void)
{
	struct tl_reservation r = range(6, 8, TL_RESERVE_OWN, NULL);

	function();
	CHECK(tl_text_reserve(NULL, NULL) == -TL_E_INVAL && tl_text_release(NULL) == -TL_E_INVAL);
	CHECK(tl_text_reserve(&r, NULL) == -TL_E_INVAL);
	r = range(6, 6, TL_RESERVE_TEXT, NULL);
	CHECK(tl_text_reserve(&r, NULL) == -TL_E_INVAL);
	r.size = SIZE_MAX;
	CHECK(tl_text_reserve(&r, NULL) == -TL_E_INVAL);
	CHECK(tl_text_release(&r) == -TL_E_STATE);
	r = range(6, 8, TL_RESERVE_TEXT, NULL);
	CHECK(tl_text_reserve(&r, NULL) == 0);
	CHECK(tl_text_reserve(&r, NULL) == -TL_E_STATE);
	CHECK(tl_text_release(&r) == 0);
	CHECK(tl_text_release(&r) == -TL_E_STATE);
	CHECK(clean());
}

static void who_stands_there_is_told(void)
{
	struct tl_reservation r = range(6, 10, TL_RESERVE_PROBE, NULL);
	struct tl_probe_info who = {0};
	struct tl_probe p, q;

	function();
	p = at(8);
	CHECK(tl_probe_register(&p) == 0);
	CHECK(tl_text_reserve(&r, &who) == -TL_E_PROBED);
	CHECK(who.probe == &p && who.addr == TEXT(8) && who.state == TL_PROBE_ARMED);
	CHECK(tl_probe_disable(&p) == 0);
	CHECK(tl_text_reserve(&r, &who) == -TL_E_PROBED);
	CHECK(who.probe == &p && who.state == TL_PROBE_OFF);
	CHECK(tl_probe_unregister(&p) == 0);
	CHECK(tl_text_reserve(&r, &who) == 0);
	q = at(8);
	CHECK(tl_probe_register(&q) == -TL_E_BLACKLIST);
	CHECK(clean());
}

/* A window from 6 on covers the range: it becomes a breakpoint. */
static void a_jump_that_covers_it_gives_way(void)
{
	struct tl_reservation r = range(10, 13, TL_RESERVE_TEXT, "others");
	struct tl_probe_info who = {0};
	static struct cpu c;
	struct tl_probe p;

	function();
	p = at(6);
	p.flags = TL_PROBE_NO_TRAP;
	CHECK(tl_probe_register(&p) == 0 && rung_of(&p) == TL_RUNG_WINDOW);
	CHECK(p.site->patch->plan->start + p.site->patch->plan->len > TEXT(10));
	CHECK(tl_text_reserve(&r, &who) == -TL_E_PROBED && who.probe == &p);
	CHECK(rung_of(&p) == TL_RUNG_WINDOW);
	CHECK(tl_probe_unregister(&p) == 0);
	p.flags = 0;
	CHECK(tl_probe_register(&p) == 0 && rung_of(&p) == TL_RUNG_WINDOW);
	CHECK(tl_text_reserve(&r, &who) == 0);
	CHECK(rung_of(&p) == TL_RUNG_TRAP);
	CHECK(fake_text[10] == TOY_SET && fake_text[11] == 1 && fake_text[12] == 8);
	cpu_init(&c, 0, 0);
	CHECK(run(&c) && hits == 1 && c.r[0] == 8 && c.r[1] == 8);
	CHECK(tl_probe_unregister(&p) == 0);
	CHECK(clean());
}

static void no_memory_leaves_everything_as_it_is(void)
{
	struct tl_reservation r = range(10, 13, TL_RESERVE_TEXT, NULL);
	struct tl_probe p;
	int ret;

	for (unsigned n = 1; n < 40; n++) {
		function();
		p = at(6);
		CHECK(tl_probe_register(&p) == 0);
		fake.fail_alloc = (unsigned)fake.nallocs + n;
		ret = tl_text_reserve(&r, NULL);
		fake.fail_alloc = 0;
		CHECK(ret == 0 || ret == -TL_E_NOMEM);
		CHECK(rung_of(&p) == (ret ? TL_RUNG_WINDOW : TL_RUNG_TRAP));
		CHECK((r.reserved != 0) == !ret);
		CHECK(tl_probe_unregister(&p) == 0);
		CHECK(clean());
		r.reserved = 0;
		if (!ret)
			return;
	}
	CHECK(!"never enough");
}

static void never(struct tl_ret_call *c, struct tl_regs *regs, struct tl_thread *self)
{
	(void)c;
	(void)regs;
	(void)self;
}

static void return_probes_have_a_list_of_their_own(void)
{
	struct tl_reservation r = range(0, 1, TL_RESERVE_RETURN, "it lies");
	struct tl_func_part part = {TEXT(0), 23};
	struct tl_retprobe rp = {.entry = (void *)TEXT(0), .parts = &part, .nparts = 1};
	struct tl_probe_info who = {0};
	struct tl_refusal why;
	struct tl_probe p;

	function();
	part.size = text_end;
	rp.on_return = never;
	CHECK(tl_retprobe_register(&rp) == 0);
	CHECK(tl_text_reserve(&r, &who) == -TL_E_PROBED && who.addr == TEXT(0));
	CHECK(tl_retprobe_unregister(&rp) == 0);
	CHECK(tl_text_reserve(&r, &who) == 0);
	CHECK(tl_retprobe_register(&rp) == -TL_E_RET_BLACKLIST);
	CHECK(ask(0, true, &why) == -TL_E_RET_BLACKLIST && !strcmp(why.reason, "it lies"));
	CHECK(ask(0, false, &why) == 0);
	p = at(0);
	CHECK(tl_probe_register(&p) == 0);
	CHECK(tl_probe_unregister(&p) == 0);
	CHECK(tl_text_release(&r) == 0);
	CHECK(tl_retprobe_register(&rp) == 0);
	CHECK(tl_retprobe_unregister(&rp) == 0);
	CHECK(clean());
}

static int collect(const struct tl_reservation *r, void *arg)
{
	const struct tl_reservation ***to = arg;

	*(*to)++ = r;
	return 0;
}

static int stop(const struct tl_reservation *r, void *arg)
{
	(void)r;
	++*(int *)arg;
	return 7;
}

static void ranges_overlap_and_are_listed_in_order(void)
{
	struct tl_reservation r[] = {range(100, 101, TL_RESERVE_RETURN, "b"),
		range(40, 4000, TL_RESERVE_TEXT, "wide"), range(100, 200, TL_RESERVE_PROBE, "c"),
		range(300, 301, TL_RESERVE_PROBE, "d"), range(100, 110, TL_RESERVE_TEXT, "e")};
	const struct tl_reservation *seen[8] = {0}, **end = seen;
	struct tl_refusal why;
	int n = 0;

	function();
	for (size_t i = 0; i < 5; i++)
		CHECK(tl_text_reserve(&r[i], NULL) == 0);
	CHECK(tl_text_reservations(collect, &end) == 0 && end - seen == 5);
	CHECK(seen[0] == &r[1] && seen[4] == &r[3]);
	CHECK(seen[1]->start == TEXT(100) && seen[2]->start == TEXT(100));
	CHECK(tl_text_reservations(stop, &n) == 7 && n == 1);
	CHECK(ask(3999, false, &why) == -TL_E_RESERVED && !strcmp(why.reason, "wide"));
	CHECK(ask(4000, false, &why) != -TL_E_RESERVED);
	CHECK(tl_text_release(&r[1]) == 0);
	CHECK(ask(3999, false, &why) != -TL_E_RESERVED);
	CHECK(ask(300, false, &why) == -TL_E_BLACKLIST && !strcmp(why.reason, "d"));
	CHECK(tl_text_release(&r[0]) == 0 && tl_text_release(&r[4]) == 0);
	CHECK(ask(199, false, &why) == -TL_E_BLACKLIST && !strcmp(why.reason, "c"));
	CHECK(tl_text_release(&r[2]) == 0);
	CHECK(ask(199, false, &why) != -TL_E_BLACKLIST);
	CHECK(clean());
	CHECK(!r[3].reserved); /* the engine has gone */
}

int main(void)
{
	RUN(reserved_places_are_refused_with_the_reason);
	RUN(who_comes_while_we_plan_is_seen);
	RUN(an_instruction_that_reaches_into_a_range);
	RUN(bad_ranges);
	RUN(who_stands_there_is_told);
	RUN(a_jump_that_covers_it_gives_way);
	RUN(no_memory_leaves_everything_as_it_is);
	RUN(return_probes_have_a_list_of_their_own);
	RUN(ranges_overlap_and_are_listed_in_order);
	return UNIT_RESULT();
}
