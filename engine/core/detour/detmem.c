/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/*
 * Memory for detours, in few large reservations, of which only the pages in use
 * take memory. Some detours may lie anywhere in reach; the address of others is
 * bound to bytes of the text (struct tl_fit). Each gets the lowest place that
 * will do: of all that is free, what lies between is skipped (gaps.c).
 */
#include "../base/broken.h"
#include "../base/core.h"
#include "../base/gaps.h"
#include "../base/slab.h"
#include "detour.h"

enum {
	CLASS = 64,
	CHUNK_MAX = 4 << 20,
	CHUNK_MIN = 64 << 10,
	AREA = 16 << 20, /* looked at for fixed places as a whole, or in free pieces */
	AREA_PIECE = 1 << 20,
	TRIES = 64, /* gaps looked at where the lowest place is wanted */
	LOOKS = 64, /* in_the_way() */
};

#define CHUNK(n) ((struct tl_chunk *)(void *)((uint8_t *)(n)-offsetof(struct tl_chunk, node)))
#define BLOCK(g) ((struct tl_detour *)(void *)((uint8_t *)(g)-offsetof(struct tl_detour, behind)))

static struct tl_index all; /* chunks by address */
static struct tl_gaps gaps; /* of all of them */
static struct tl_slab block_slab = {.size = sizeof(struct tl_detour)};
static struct tl_slab chunk_slab = {.size = sizeof(struct tl_chunk)};
static struct tl_index explored; /* areas of which all that was free is ours */
static struct tl_slab explored_slab = {.size = sizeof(struct tl_node)};
static size_t in_use; /* bytes of blocks */

struct tl_chunk *tl_chunk_at(uintptr_t at)
{
	struct tl_node *n = tl_index_floor(&all, at);

	return n && at - n->key < CHUNK(n)->size ? CHUNK(n) : NULL;
}

struct tl_chunk *tl_chunk_next(uintptr_t from)
{
	struct tl_node *n = tl_index_ceil(&all, from);

	return n ? CHUNK(n) : NULL;
}

bool tl_chunks_span(uintptr_t *lo, uintptr_t *hi)
{
	struct tl_node *first = tl_index_ceil(&all, 0), *last = tl_index_floor(&all, UINTPTR_MAX);

	if (!first)
		return false;
	*lo = first->key;
	*hi = last->key + CHUNK(last)->size;
	return true;
}

static struct tl_chunk *chunk_new(uintptr_t lo, uintptr_t hi, size_t size, int *err)
{
	struct tl_chunk *c = tl_slab_get(&chunk_slab);

	*err = -TL_E_NOMEM;
	if (!c)
		return NULL;
	c->size = size;
	*err = tl_os_code_reserve(lo, hi, size, &c->at);
	if (*err) {
		tl_slab_put(&chunk_slab, c);
		return NULL;
	}
	tl_index_insert(&all, &c->node, c->at);
	c->bottom = (struct tl_gap){.key = c->at - 1, .from = c->at, .room = size};
	tl_gap_add(&gaps, &c->bottom);
	return c;
}

/* --- free places ---------------------------------------------------------------- */

/* Lines of the cache, where nothing else is asked for. */
static struct tl_fit fit_of(const struct tl_plan *plan)
{
	return plan->fit.mask ? plan->fit : (struct tl_fit){.mask = CLASS - 1};
}

/* The lowest one, in the first `*tries` gaps of at least `room` bytes; what is left of those. */
static uintptr_t fit_in_gaps(const struct tl_plan *plan, size_t size, size_t room, size_t *tries)
{
	struct tl_fit fit = fit_of(plan);
	uintptr_t at = tl_fit_next(&fit, plan->reach_lo);

	for (; *tries && at < plan->reach_hi && plan->reach_hi - at >= size; --*tries) {
		const struct tl_gap *g = tl_gap_next(&gaps, at, room);
		uintptr_t end = g ? g->from + g->room : 0;

		if (!g)
			return 0;
		if (g->from > at)
			at = tl_fit_next(&fit, g->from);
		if (at < end && end - at >= size)
			return at + size <= plan->reach_hi ? at : 0;
		if (at < end)
			at = tl_fit_next(&fit, end);
	}
	return 0;
}

/* Fits recur after so many bytes; bits that are fixed at the top only say where it begins. */
static size_t period(struct tl_fit fit)
{
	uint32_t bit = 1u << 31;

	while (fit.mask & bit)
		bit >>= 1;
	while (bit && !(fit.mask & bit))
		bit >>= 1;
	return bit ? 2 * (size_t)bit : 1;
}

/* The lowest one, unless there are many gaps in which it does not fit: then one in which it must. */
static uintptr_t fit_ours(const struct tl_plan *plan, size_t size)
{
	size_t tries = TRIES, few = TRIES, all = SIZE_MAX;
	uintptr_t at = fit_in_gaps(plan, size, size, &tries);

	if (!at && !tries)
		at = fit_in_gaps(plan, size, size + period(fit_of(plan)) - 1, &few);
	if (!at && !tries)
		at = fit_in_gaps(plan, size, size, &all);
	return at;
}

/* Which block takes the place, or else where the gap ends that is too small for it. */
static struct tl_detour *taken_by(uintptr_t at, size_t size, uintptr_t *end)
{
	struct tl_gap *g = tl_gap_floor(&gaps, at + size - 1);
	bool bottom = g->from == g->key + 1;

	if (!bottom && g->from > at) {
		*end = g->from;
		return BLOCK(g);
	}
	*end = g->from + g->room;
	return NULL;
}

/* A retired block where the plan's would fit: of the first few that are there. */
static struct tl_detour *in_the_way(const struct tl_plan *plan, size_t size)
{
	uintptr_t at = tl_fit_next(&plan->fit, plan->reach_lo);

	for (unsigned i = 0; i < LOOKS && at < plan->reach_hi; i++) {
		struct tl_chunk *c = tl_chunk_at(at) ? NULL : tl_chunk_next(at);
		struct tl_detour *d = NULL;
		uintptr_t end;

		if (c)
			end = c->at;
		else if (tl_chunk_at(at))
			d = taken_by(at, size, &end);
		else
			return NULL;
		if (d && d->retired)
			return d;
		at = tl_fit_next(&plan->fit, end);
	}
	return NULL;
}

/* Where nothing is ours yet. */
static int grow(const struct tl_plan *plan)
{
	struct tl_chunk *c = NULL;
	int ret = 0;

	for (size_t size = CHUNK_MAX; size >= CHUNK_MIN && !c; size /= 2)
		c = chunk_new(plan->reach_lo, plan->reach_hi, size, &ret);
	return c ? 0 : ret;
}

/* Reserves [lo, lo + size) as it is. */
static bool reserve_at(uintptr_t lo, size_t size)
{
	int err;

	return chunk_new(lo, lo + size, size, &err) != NULL;
}

/* Makes what is free of an area ours, once and for all: nobody asks twice. False: nothing new. */
static bool explore(uintptr_t area)
{
	struct tl_node *n;
	bool any = false;

	if (tl_index_find(&explored, area))
		return false;
	n = tl_slab_get(&explored_slab);
	if (!n)
		return false;
	tl_index_insert(&explored, n, area);
	if (reserve_at(area, AREA))
		return true;
	for (uintptr_t at = area; at < area + AREA; at += AREA_PIECE)
		any |= reserve_at(at, AREA_PIECE);
	return any;
}

static bool fits_in_area(const struct tl_plan *plan, uintptr_t area)
{
	uintptr_t at = tl_fit_next(&plan->fit, area > plan->reach_lo ? area : plan->reach_lo);

	return at < area + AREA && at < plan->reach_hi;
}

/* From the text downwards first: nothing grows there. */
static uintptr_t fit_new(const struct tl_plan *plan, size_t size)
{
	uintptr_t mid = plan->start & ~(uintptr_t)(AREA - 1), at = 0, area;

	for (area = mid; area + AREA > plan->reach_lo && !at; area -= AREA) {
		if (fits_in_area(plan, area) && explore(area))
			at = fit_ours(plan, size);
		if (area < AREA)
			break;
	}
	for (area = mid + AREA; area < plan->reach_hi && area > mid && !at; area += AREA)
		if (fits_in_area(plan, area) && explore(area))
			at = fit_ours(plan, size);
	return at;
}

/*
 * Of evictions thousands are asked about, the same few fits again and again: what was found is kept, that nothing is free
 * until something becomes free, and that something is until so many more blocks have been placed. Each has a mask.
 */
enum { ANSWERS = 1024, HOLDS_FOR = 256 };

static struct answer {
	struct tl_fit fit;
	uint64_t freed, placed; /* as of then */
	bool room;
} answers[ANSWERS];
static uint64_t freed, placed;

static struct answer *answer_for(const struct tl_fit *f)
{
	uintptr_t first = f->from + f->match;

	return &answers[(first ^ first >> 16 ^ f->mask >> 8) % ANSWERS];
}

static bool still_holds(const struct answer *a, const struct tl_fit *f)
{
	return a->fit.from == f->from && a->fit.mask == f->mask && a->fit.match == f->match &&
	       (a->room ? placed - a->placed < HOLDS_FOR : a->freed == freed);
}

bool tl_detmem_room(const struct tl_plan *plan)
{
	struct answer *a = answer_for(&plan->fit);

	if (!plan->fit.mask)
		return true;
	if (still_holds(a, &plan->fit))
		return a->room;
	a->room = fit_ours(plan, CLASS) || fit_new(plan, CLASS);
	a->fit = plan->fit;
	a->freed = freed;
	a->placed = placed;
	return a->room;
}

/* --- blocks ----------------------------------------------------------------------- */

static struct tl_detour *place_at(uintptr_t at, size_t size)
{
	struct tl_detour *d = tl_slab_get(&block_slab);
	struct tl_gap *g = tl_gap_floor(&gaps, at);
	uintptr_t end = at + size;

	if (!d)
		return NULL;
	TL_ASSERT(g->from <= at && g->from + g->room >= end);
	d->at = at;
	d->size = (uint32_t)size;
	d->behind = (struct tl_gap){.key = at, .from = end, .room = g->from + g->room - end};
	tl_gap_resize(&gaps, g, at - g->from);
	tl_gap_add(&gaps, &d->behind);
	in_use += size;
	placed++;
	return d;
}

static uintptr_t fit_fixed(const struct tl_plan *plan, size_t size, int *err)
{
	struct tl_detour *d;
	uintptr_t at = fit_ours(plan, size);

	if (!at)
		at = fit_new(plan, size);
	if (!at && (d = in_the_way(plan, size)) && tl_detour_release(d))
		at = fit_ours(plan, size);
	*err = -TL_E_OUT_OF_REACH;
	return at;
}

static uintptr_t fit_anywhere(const struct tl_plan *plan, size_t size, int *err)
{
	uintptr_t at = fit_ours(plan, size);

	*err = at ? 0 : grow(plan);
	return at || *err ? at : fit_ours(plan, size);
}

static size_t size_of(size_t bound)
{
	return (bound + CLASS - 1) / CLASS * CLASS;
}

uintptr_t tl_detmem_look(const struct tl_plan *plan, size_t bound, int *err)
{
	size_t size = size_of(bound);

	return plan->fit.mask ? fit_fixed(plan, size, err) : fit_anywhere(plan, size, err);
}

struct tl_detour *tl_detmem_get(const struct tl_plan *plan, size_t bound, int *err)
{
	uintptr_t at = tl_detmem_look(plan, bound, err);

	if (!at)
		return NULL;
	*err = -TL_E_NOMEM;
	return place_at(at, size_of(bound));
}

void tl_detmem_usage(struct tl_usage *usage)
{
	usage->detours = in_use;
	for (struct tl_chunk *c = tl_chunk_next(0); c; c = tl_chunk_next(c->at + 1))
		usage->detours_reserved += c->size;
}

void tl_detmem_put(struct tl_detour *d)
{
	struct tl_gap *g = tl_gap_floor(&gaps, d->at - 1);

	if (tl_detour_watch && d->used && !tl_core.foreseeing)
		tl_detour_watch->freed(d);
	in_use -= d->size;
	freed++;
	tl_gap_remove(&gaps, &d->behind);
	tl_gap_resize(&gaps, g, g->room + d->size + d->behind.room);
	tl_slab_put(&block_slab, d);
}

void tl_detmem_deinit(void)
{
	struct tl_chunk *c;
	uintptr_t at;

	for (c = tl_chunk_next(0); c; c = tl_chunk_next(at + 1)) {
		at = c->at;
		tl_os_code_release(c->at, c->size);
	}
	all.root = NULL;
	gaps.root = NULL;
	explored.root = NULL;
	in_use = 0;
	freed++;
	tl_slab_deinit(&explored_slab);
	tl_slab_deinit(&block_slab);
	tl_slab_deinit(&chunk_slab);
}
