/* SPDX-License-Identifier: MIT */
/* Every allocation fails in turn: nothing changes, nothing leaks, and the next try works. */
#include "machine.h"

enum { SIZE = 38 };

static void program(void)
{
	world_of_all_kinds();
	memcpy(before, fake_text, FAKE_TEXT);
}

static bool clean(void)
{
	fake.fail_alloc = 0;
	tl_engine_exit();
	return !memcmp(before, fake_text, FAKE_TEXT) && !fake.live && !fake.code_used &&
	       !fake.live_bytes;
}

/* Returns the number of allocations that it took, 0 when something was wrong. */
static unsigned try_register(unsigned nth)
{
	static const size_t off[] = {0, 6, 13, 20, 24, 29, 32};
	enum { N = sizeof(off) / sizeof(off[0]) };
	struct tl_probe p[N], *list[N];
	int ret;

	program();
	for (unsigned i = 0; i < N; i++) {
		p[i] = probe_at(off[i], SIZE, count_hit);
		list[i] = &p[i];
	}
	fake.fail_alloc = nth;
	ret = tl_probes_register(list, N, NULL);
	fake.fail_alloc = 0;
	if (nth && !ret) /* it did without */
		return tl_probes_unregister(list, N) == 0 && clean();
	if (nth && memcmp(before, fake_text, FAKE_TEXT))
		return 0;
	for (unsigned i = 0; nth && i < N; i++)
		if (p[i].state != TL_PROBE_NEW || p[i].site)
			return 0;
	if (nth && tl_probes_register(list, N, NULL))
		return 0;
	nth = (unsigned)fake.nallocs;
	return tl_probes_unregister(list, N) == 0 && clean() ? nth : 0;
}

static void registering_survives_every_failure(void)
{
	unsigned n = try_register(0);

	CHECK(n > 8);
	for (unsigned i = 1; i <= n; i++) {
		unsigned ok = try_register(i);

		CHECK(ok || (tl_engine_exit(), 0));
		tl_engine_exit();
		CHECK(!fake.live && !fake.code_used);
	}
}

static void nothing(struct tl_ret_call *c, struct tl_regs *regs, struct tl_thread *self)
{
	(void)c;
	(void)regs;
	(void)self;
}

static void return_probes_survive_every_failure(void)
{
	struct tl_func_part part;
	unsigned n = 100;

	for (unsigned i = 1; i <= n; i++) {
		struct tl_retprobe rp = {
			.on_return = nothing, .data_size = 8, .parts = &part, .nparts = 1};
		int ret;

		program();
		part = (struct tl_func_part){TEXT(30), 8};
		rp.entry = (void *)TEXT(30);
		fake.fail_alloc = i;
		ret = tl_retprobe_register(&rp);
		fake.fail_alloc = 0;
		if (!ret)
			n = i; /* the end of the series, or did without */
		else
			CHECK(!rp.state && !memcmp(before, fake_text, FAKE_TEXT));
		if (ret)
			CHECK(tl_retprobe_register(&rp) == 0);
		CHECK(tl_retprobe_unregister(&rp) == 0);
		CHECK(clean());
	}
	CHECK(n > 8 && n < 100);
}

static void taking_away_without_memory_is_made_good_later(void)
{
	struct tl_probe p, q;

	for (unsigned i = 1; i <= 3; i++) {
		int ret;

		program();
		p = probe_at(0, SIZE, count_hit);
		q = probe_at(6, SIZE, count_hit);
		CHECK(tl_probe_register(&p) == 0 && tl_probe_register(&q) == 0);
		fake.fail_alloc = (unsigned)fake.nallocs + i;
		ret = tl_probe_unregister(&p);
		fake.fail_alloc = 0;
		/* At worst it is silent with its jump still there. */
		CHECK(ret == 0 || ret == -TL_E_NOMEM);
		CHECK(p.state == TL_PROBE_GONE);
		CHECK(tl_probe_unregister(&q) == 0);
		CHECK(!memcmp(before, fake_text, FAKE_TEXT));
		CHECK(clean());
	}
}

static void no_room_for_detours_means_a_clear_refusal(void)
{
	struct tl_probe p;

	program();
	fake.code_reach = 1;
	p = probe_at(0, SIZE, count_hit);
	CHECK(tl_probe_register(&p) == -TL_E_OUT_OF_REACH);
	CHECK(clean());
}

int main(void)
{
	RUN(registering_survives_every_failure);
	RUN(return_probes_survive_every_failure);
	RUN(taking_away_without_memory_is_made_good_later);
	RUN(no_room_for_detours_means_a_clear_refusal);
	return UNIT_RESULT();
}
