/* SPDX-License-Identifier: MIT */
/* What the listing tells of probes, and of all that they take. */
#include "machine.h"

static struct cpu cpu;

static bool runs(void)
{
	cpu_init(&cpu, 0, 0);
	return run(&cpu);
}

static struct tl_probe_info listed[8];
static unsigned nlisted;

static int take(const struct tl_probe_info *info, void *arg)
{
	(void)arg;
	if (nlisted < 8)
		listed[nlisted] = *info;
	nlisted++;
	return 0;
}

static unsigned list(void)
{
	nlisted = 0;
	return tl_probes_list(take, NULL) ? 0 : nlisted;
}

static int go_on_behind(struct tl_probe *p, struct tl_regs *regs, struct tl_thread *self)
{
	(void)self;
	TL_REGS_IP(regs) = (uintptr_t)p->addr + 6;
	return 1;
}

static void hits_are_counted_for_who_asks(void)
{
	struct tl_probe p, q, r, *all[] = {&p, &q, &r};

	five_instructions();
	p = q = r = probe_at(0, 14, count_hit);
	p.flags = r.flags = TL_PROBE_COUNT;
	CHECK(tl_probe_register(&p) == 0 && runs() && runs());
	CHECK(p.nhits == 2 && hits == 2 && list() == 1 && listed[0].nhits == 2);
	CHECK(tl_probe_disable(&p) == 0 && runs() && p.nhits == 2);
	CHECK(tl_probe_enable(&p) == 0 && runs() && p.nhits == 3);
	q.pre = go_on_behind; /* those behind it are not hit */
	CHECK(tl_probe_register(&q) == 0 && tl_probe_register(&r) == 0 && runs());
	CHECK(p.nhits == 4 && q.nhits == 0 && r.nhits == 0);
	CHECK(tl_probes_unregister(all, 3) == 0);
	CHECK(p.nhits == 4);
	CHECK(tl_probe_register(&p) == 0 && p.nhits == 0);
	CHECK(tl_probe_unregister(&p) == 0);
	CHECK(left_clean());
}

static void states_and_detours_are_told(void)
{
	struct tl_probe p, q, *both[] = {&p, &q};

	five_instructions();
	p = probe_at(0, 14, count_hit);
	q = probe_at(10, 14, count_hit);
	q.flags = TL_PROBE_NO_JUMP;
	CHECK(tl_probes_register(both, 2, NULL) == 0 && list() == 2);
	CHECK(listed[0].optimized && listed[0].rung == TL_RUNG_WHOLE);
	CHECK(listed[0].detour && listed[0].detour_size);
	CHECK(!listed[1].optimized && listed[1].rung == TL_RUNG_TRAP);
	CHECK(tl_probe_disable(&p) == 0 && list() == 2);
	CHECK(listed[0].state == TL_PROBE_OFF && !listed[0].optimized && !listed[0].detour);
	CHECK(listed[1].state == TL_PROBE_ARMED);
	CHECK(tl_probes_unregister(both, 2) == 0 && list() == 0);
	CHECK(left_clean());
}

static int closed(void)
{
	tl_image_remove(TEXT(0));
	return 0;
}

static void who_is_gone_is_listed_until_taken_back(void)
{
	struct tl_probe p, off, *both[] = {&p, &off};
	struct tl_usage u;

	five_instructions();
	p = probe_at(0, 14, count_hit);
	off = probe_at(6, 14, count_hit);
	off.flags = TL_PROBE_DISABLED;
	CHECK(tl_probes_register(both, 2, NULL) == 0);
	fake.images_stale = true;
	fake.images = closed;
	CHECK(list() == 2);
	fake.images_stale = false;
	for (unsigned i = 0; i < 2; i++) {
		CHECK(listed[i].state == TL_PROBE_GONE && listed[i].rung == TL_RUNG_NONE);
		CHECK(listed[i].addr == (uintptr_t)both[i]->addr);
	}
	CHECK(tl_probes_usage(&u) == 0 && u.probes == 2 && u.gone == 2);
	CHECK(tl_probe_unregister(&off) == 0 && list() == 1 && listed[0].probe == &p);
	fake.images = whole_text;
	memcpy(fake_text, before, sizeof(before));
	CHECK(tl_probe_register(&p) == 0 && list() == 1);
	CHECK(listed[0].state == TL_PROBE_ARMED);
	CHECK(tl_probe_unregister(&p) == 0 && list() == 0);
	CHECK(left_clean());
}

static void what_all_of_them_take_is_told(void)
{
	struct tl_probe p, q, r, *all[] = {&p, &q, &r};
	struct tl_usage u;

	five_instructions();
	CHECK(tl_probes_usage(NULL) == -TL_E_INVAL);
	CHECK(tl_probes_usage(&u) == 0 && !u.probes && !u.detours && !u.text_pages);
	p = q = probe_at(0, 14, count_hit);
	r = probe_at(10, 14, count_hit);
	r.flags = TL_PROBE_NO_JUMP;
	CHECK(tl_probes_register(all, 3, NULL) == 0);
	CHECK(tl_probes_usage(&u) == 0);
	CHECK(u.probes == 3 && !u.gone && !u.waiting);
	CHECK(u.armed[TL_RUNG_WHOLE] == 1 && u.armed[TL_RUNG_TRAP] == 1);
	CHECK(u.text_pages == 1);
	CHECK(list() == 3 && u.detours == listed[0].detour_size + listed[2].detour_size);
	CHECK(u.detours_reserved >= u.detours);
	CHECK(tl_probes_unregister(all, 3) == 0);
	CHECK(tl_probes_usage(&u) == 0 && !u.probes && !u.armed[TL_RUNG_WHOLE] && !u.text_pages);
	CHECK(left_clean());
}

int main(void)
{
	RUN(hits_are_counted_for_who_asks);
	RUN(states_and_detours_are_told);
	RUN(who_is_gone_is_listed_until_taken_back);
	RUN(what_all_of_them_take_is_told);
	return UNIT_RESULT();
}
