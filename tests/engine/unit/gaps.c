/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/* Free places: the next one that is large enough is found, and not by looking at all that are not. */
#include "machine.h"

enum { PIECES = 400, ROUNDS = 20000, AREA = 4096 };

struct piece {
	struct tl_gap gap;
	bool in;
};

static struct piece pieces[PIECES];
static struct tl_gaps gaps;
static uint64_t dice = 88172645463325252u;

static unsigned roll(unsigned n)
{
	dice ^= dice << 13;
	dice ^= dice >> 7;
	dice ^= dice << 17;
	return (unsigned)(dice % n);
}

static struct tl_gap *next_by_hand(uintptr_t at, size_t size)
{
	for (unsigned i = 0; i < PIECES; i++) {
		struct tl_gap *g = &pieces[i].gap;

		if (pieces[i].in && g->from + g->room > at && g->room >= size)
			return g;
	}
	return NULL;
}

static struct tl_gap *floor_by_hand(uintptr_t key)
{
	struct tl_gap *best = NULL;

	for (unsigned i = 0; i < PIECES && pieces[i].gap.key <= key; i++)
		if (pieces[i].in)
			best = &pieces[i].gap;
	return best;
}

static void change_one(struct piece *p)
{
	switch (p->in ? roll(2) : 2) {
	case 0:
		tl_gap_remove(&gaps, &p->gap);
		p->in = false;
		break;
	case 1:
		tl_gap_resize(&gaps, &p->gap, roll(AREA));
		break;
	default:
		p->gap.room = roll(AREA);
		tl_gap_add(&gaps, &p->gap);
		p->in = true;
	}
}

static void as_by_hand(void)
{
	for (unsigned i = 0; i < PIECES; i++)
		pieces[i].gap =
			(struct tl_gap){.key = (i + 1) * 2 * AREA, .from = (i + 1) * 2 * AREA + 64};
	for (unsigned round = 0; round < ROUNDS; round++) {
		uintptr_t at = roll((PIECES + 2) * 2 * AREA);
		size_t size = 1 + roll(AREA);

		change_one(&pieces[roll(PIECES)]);
		CHECK(tl_gap_next(&gaps, at, size) == next_by_hand(at, size));
		CHECK(tl_gap_floor(&gaps, at) == floor_by_hand(at));
	}
}

/* --- detour memory on top of it ---------------------------------------------- */

enum { BLOCKS = 6000, SIZE = 192, LOOKS = 200, LO = 0x40000000, HI = 0x50000000 };

static struct tl_detour *blocks[2 * BLOCKS];
static size_t nblocks;

static void get(uint32_t mask, uint32_t match)
{
	struct tl_plan plan = {.start = LO,
		.reach_lo = LO,
		.reach_hi = HI,
		.fit = {.mask = mask, .match = match & mask}};
	size_t before = tl_gap_looks;
	int err;
	struct tl_detour *d = tl_detmem_get(&plan, SIZE, &err);

	CHECK(tl_gap_looks - before <= LOOKS);
	CHECK(d && ((uint32_t)d->at & mask) == plan.fit.match);
	blocks[nblocks++] = d;
}

static int by_place(const void *a, const void *b)
{
	const struct tl_detour *x = *(struct tl_detour *const *)a;
	const struct tl_detour *y = *(struct tl_detour *const *)b;

	return (x->at > y->at) - (x->at < y->at);
}

static void check_apart(void)
{
	qsort(blocks, nblocks, sizeof(blocks[0]), by_place);
	for (size_t i = 1; i < nblocks; i++)
		CHECK(blocks[i - 1]->at + SIZE <= blocks[i]->at);
}

/* Holes that are large enough, and mostly in the wrong place. */
static void put_every_third(void)
{
	size_t kept = 0;

	for (size_t i = 0; i < nblocks; i++)
		if (i % 3)
			blocks[kept++] = blocks[i];
		else
			tl_detmem_put(blocks[i]);
	nblocks = kept;
}

/* Those bound to certain low bytes among those that may lie anywhere: each costs as much as the first. */
static void places_for_many(void)
{
	tl_os_lock();
	CHECK(!tl_engine_init_locked());
	fake.free_lo = LO;
	fake.free_hi = HI;
	for (unsigned round = 0; round < 2; round++) {
		for (unsigned i = 0; i < BLOCKS; i++) {
			get(0, 0);
			get(i % 8 ? 0xff : 0xffff, roll(65536));
		}
		check_apart();
		put_every_third();
		for (unsigned i = 0; i < BLOCKS / 2; i++)
			get(0xff, roll(256));
		check_apart();
		while (nblocks)
			tl_detmem_put(blocks[--nblocks]);
	}
	tl_detmem_deinit();
	tl_os_unlock();
	CHECK(tl_engine_exit());
	CHECK(!fake.live);
}

int main(void)
{
	RUN(as_by_hand);
	RUN(places_for_many);
	return UNIT_RESULT();
}
