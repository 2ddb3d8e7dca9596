/* SPDX-License-Identifier: MIT */
/*
 * The rungs that depend on where detours can lie, in a world where each test
 * says what memory is free: core and x86 port on the fake environment. The
 * text stands at a fixed address; nothing runs.
 */
#define _GNU_SOURCE
#include <string.h>
#include <sys/mman.h>
#include "../../../engine/core/detour/detour.h"
#include "../../../engine/core/detour/site.h"
#include "../../../engine/core/detour/thread.h"
#include "../../../engine/core/image/image.h"
#include "../../../engine/core/text/patch.h"
#include "../../../engine/insn/x86/insn.h"
#include "../../../engine/os/fake/fake.h"
#include "../../unit.h"

#define TEXT  0x2a0000400000ul
#define ROOM  4096 /* and as much behind it, that may be read */
#define AREA  (16ul << 20)
#define AREAS 128 /* on either side, within reach of a jump */
#define CHAIN 3
#define WHOLE 64 /* where another function may stand */
#define LOOKS 2000 /* for free places, for one site */

enum { BY_PUN = 0, REFUSED = CHAIN + 1 }; /* between: so many neighbours evicted */

/* push %rbp; push %rbx; two mov; sub; and a jump to the second push, so that there is no window */
static const uint8_t shorts[] = "\x55\x53\x48\x89\xfb\x48\x89\xd7\x48\x83\xec\x18\xeb\xf3\xc3";
/* The same, but what follows the first push has to stay. */
static const uint8_t stays[] = "\x55\x0f\x0b\x0f\x0b\xeb\xfa\xc3";

static uint8_t *text, before[ROOM];

static int no_handler(struct tl_probe *p, struct tl_regs *regs, struct tl_thread *self)
{
	(void)p, (void)regs, (void)self;
	return 0;
}

static int image(void)
{
	struct tl_image img = {.bias = TEXT, .lo = TEXT, .hi = TEXT + ROOM, .name = "shorts"};

	return tl_image_add(&img);
}

static bool world(const uint8_t *bytes, size_t n, uintptr_t free_lo, uintptr_t free_hi)
{
	if (!text)
		text = mmap((void *)TEXT, 2 * ROOM, PROT_READ | PROT_WRITE,
			MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED_NOREPLACE, -1, 0);
	if (text != (void *)TEXT)
		return false;
	fake_reset();
	fake.images = image;
	fake.read_anything = true;
	fake.free_lo = free_lo;
	fake.free_hi = free_hi;
	memset(text, 0xcc, ROOM);
	memcpy(text, bytes, n);
	memcpy(before, text, ROOM);
	return true;
}

static struct tl_probe first(size_t n, uint32_t flags)
{
	return (struct tl_probe){.addr = text,
		.pre = no_handler,
		.func_start = TEXT,
		.func_size = (uint32_t)n,
		.flags = flags};
}

static bool is_free(uintptr_t at)
{
	return at >= fake.free_lo && at < fake.free_hi;
}

/* Does what stands at the patch's start lead to its detour, in free memory? */
static bool leads(const struct tl_patch *p)
{
	struct tl_insn i;

	return tl_insn_decode(&i, (const uint8_t *)p->plan->start, 16, TL_INSN_64) &&
	       i.flow == TL_FLOW_JMP &&
	       (uintptr_t)tl_insn_target(&i, p->plan->start) == p->detour->at &&
	       is_free(p->detour->at);
}

/* How many neighbours have gone; -1: something does not lead where it should. */
static int chain_of(const struct tl_patch *p)
{
	int n = 0;

	for (; p; p = p->moved, n++)
		if (!leads(p))
			return -1;
	return n - 1;
}

static bool left_clean(void)
{
	tl_engine_exit();
	return !memcmp(text, before, ROOM) && !fake.live && !fake.bad_stores;
}

/* The outcome with this memory free; -1: wrong. */
static int outcome(uintptr_t free_lo, uintptr_t free_hi)
{
	struct tl_probe p;
	int ret, n = REFUSED;

	if (!world(shorts, sizeof(shorts) - 1, free_lo, free_hi))
		return -1;
	p = first(sizeof(shorts) - 1, TL_PROBE_NO_TRAP);
	ret = tl_probe_register(&p);
	if (!ret) {
		const struct tl_patch *patch = p.site->patch;

		n = chain_of(patch);
		if (patch->plan->rung != (n ? TL_RUNG_EVICT : TL_RUNG_PUN) || n > CHAIN ||
			(n && patch->plan->why[TL_RUNG_PUN] != -TL_E_OUT_OF_REACH))
			n = -1;
		ret = tl_probe_unregister(&p);
	} else if (ret == -TL_E_OUT_OF_REACH) {
		ret = 0;
	}
	return left_clean() && !ret ? n : -1;
}

/* Areas of 16 MiB from that of the text on: what comes out where this one alone is free. */
static void each_decision_where_one_area_is_free(void)
{
	static const struct {
		intptr_t area;
		int outcome;
	} row[] = {{-5, BY_PUN}, {-119, 1}, {-20, 2}, {-21, 3}, {0, REFUSED}};

	for (unsigned i = 0; i < sizeof(row) / sizeof(row[0]); i++) {
		uintptr_t area = (TEXT & ~(AREA - 1)) + (uintptr_t)row[i].area * AREA;

		CHECK(outcome(area, area + AREA) == row[i].outcome);
	}
}

static void the_pun_comes_first_where_all_is_free(void)
{
	CHECK(outcome(TEXT - AREA * AREAS, TEXT + AREA * AREAS) == BY_PUN);
}

static void nothing_is_free(void)
{
	CHECK(outcome(1, 2) == REFUSED);
}

/* Of some hundred thousand chains most are left where their first jump finds no place, and none is written in vain. */
static void a_refusal_takes_few_looks(void)
{
	uintptr_t area = TEXT & ~(AREA - 1);
	size_t looks;
	struct tl_probe p;

	CHECK(world(shorts, sizeof(shorts) - 1, area, area + AREA));
	p = first(sizeof(shorts) - 1, TL_PROBE_NO_TRAP);
	looks = tl_gap_looks;
	CHECK(tl_probe_register(&p) == -TL_E_OUT_OF_REACH);
	CHECK(tl_gap_looks - looks < LOOKS && !fake_count(FAKE_CODE_WRITE) && left_clean());
}

/* Detours that may lie anywhere have taken all there is: what they have not used yet is room for one that may not. */
static void what_others_have_reserved_is_no_obstacle(void)
{
	const uintptr_t chunk = 4 << 20, pun = TEXT + 5 + (int32_t)0xfb894853;
	struct tl_probe p, other;

	CHECK(world(
		shorts, sizeof(shorts) - 1, (pun & ~(chunk - 1)), (pun & ~(chunk - 1)) + chunk));
	memcpy(text + WHOLE, "\xb8\x01\x00\x00\x00\xc3", 6); /* mov $1,%eax; ret */
	memcpy(before, text, ROOM);
	other = (struct tl_probe){.addr = text + WHOLE,
		.pre = no_handler,
		.func_start = TEXT + WHOLE,
		.func_size = 6};
	CHECK(tl_probe_register(&other) == 0 && other.site->patch->plan->rung == TL_RUNG_WHOLE);
	p = first(sizeof(shorts) - 1, TL_PROBE_NO_TRAP);
	CHECK(tl_probe_register(&p) == 0 && p.site->patch->plan->rung == TL_RUNG_PUN);
	CHECK(p.site->patch->detour->at == pun && leads(p.site->patch));
	CHECK(tl_probe_unregister(&p) == 0 && tl_probe_unregister(&other) == 0 && left_clean());
}

static void a_neighbour_that_stays_leaves_the_trap(void)
{
	struct tl_probe p;
	uintptr_t area = TEXT & ~(AREA - 1);

	CHECK(world(stays, sizeof(stays) - 1, area, area + AREA));
	p = first(sizeof(stays) - 1, 0);
	CHECK(tl_probe_register(&p) == 0);
	CHECK(p.site->patch->plan->rung == TL_RUNG_TRAP);
	CHECK(p.site->patch->plan->why[TL_RUNG_PUN] == -TL_E_OUT_OF_REACH);
	CHECK(p.site->patch->plan->why[TL_RUNG_EVICT] == -TL_E_NO_MOVE);
	CHECK(tl_probe_unregister(&p) == 0 && left_clean());
}

int main(void)
{
	RUN(each_decision_where_one_area_is_free);
	RUN(the_pun_comes_first_where_all_is_free);
	RUN(nothing_is_free);
	RUN(a_refusal_takes_few_looks);
	RUN(what_others_have_reserved_is_no_obstacle);
	RUN(a_neighbour_that_stays_leaves_the_trap);
	return UNIT_RESULT();
}
