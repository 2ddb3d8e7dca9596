/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/*
 * Memory for detours, in few large reservations. Those that may lie anywhere in
 * reach are cut from the bottom up into blocks of 64-byte classes. Those whose
 * address is bound to bytes of the text (struct tl_fit) lie where they must, in
 * sparse reservations of their own, of which only the pages in use take memory.
 */
#include "internal.h"

enum {
	CLASS = 64,
	CLASSES = TL_DETOUR_MAX / CLASS,
	CHUNK_MAX = 4 << 20,
	CHUNK_MIN = 64 << 10,
	AREA = 16 << 20, /* sparse chunks are whole areas, or free pieces of them */
	AREA_PIECE = 1 << 20,
};

#define CHUNK(n) ((struct tl_chunk *)(void *)((uint8_t *)(n)-offsetof(struct tl_chunk, node)))
#define BLOCK(n) ((struct tl_detour *)(void *)((uint8_t *)(n)-offsetof(struct tl_detour, place)))

static struct tl_index all; /* chunks by address */
static struct tl_chunk *dense; /* list */
static struct tl_slab chunk_slab = {.size = sizeof(struct tl_chunk)};
static struct tl_detour *blocks[CLASSES]; /* free ones of the dense chunks */
static struct tl_index placed; /* blocks of the sparse chunks */
static struct tl_index explored; /* areas of which all that was free is ours */
static uintptr_t next; /* fit_anywhere(): where the last one ended */
static uintptr_t next_before; /* the foretelling under way */
static size_t in_use; /* bytes of blocks */
static struct tl_slab explored_slab = {.size = sizeof(struct tl_node)};

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
	c->size = c->room = size;
	*err = tl_os_code_reserve(lo, hi, size, &c->at);
	if (*err) {
		tl_slab_put(&chunk_slab, c);
		return NULL;
	}
	tl_index_insert(&all, &c->node, c->at);
	return c;
}

static bool in_reach(const struct tl_plan *plan, uintptr_t at, size_t size)
{
	return at >= plan->reach_lo && at + size <= plan->reach_hi && at + size > at;
}

/* --- anywhere in reach ------------------------------------------------------ */

static struct tl_detour *from_free(const struct tl_plan *plan, unsigned class)
{
	struct tl_detour **link, *d;

	for (link = &blocks[class]; (d = *link); link = &d->next)
		if (in_reach(plan, d->at, d->size)) {
			*link = d->next;
			return d;
		}
	return NULL;
}

static uintptr_t cut(struct tl_chunk *c, const struct tl_plan *plan, size_t size)
{
	uintptr_t at = c->at + c->used;

	if (c->room - c->used < size || !in_reach(plan, at, size))
		return 0;
	c->used += size;
	return at;
}

static int grow(const struct tl_plan *plan)
{
	struct tl_chunk *c = NULL;
	int ret = 0;

	for (size_t size = CHUNK_MAX; size >= CHUNK_MIN && !c; size /= 2)
		c = chunk_new(plan->reach_lo, plan->reach_hi, size, &ret);
	if (!c)
		return ret;
	c->next = dense;
	dense = c;
	return 0;
}

static uintptr_t cut_any(const struct tl_plan *plan, size_t size)
{
	uintptr_t at = 0;

	for (struct tl_chunk *c = dense; c && !at; c = c->next)
		at = cut(c, plan, size);
	return at;
}

/* --- where it must be --------------------------------------------------------- */

static struct tl_detour *block_over(uintptr_t at, size_t size)
{
	struct tl_node *n = tl_index_floor(&placed, at + size - 1);

	return n && n->key + BLOCK(n)->size > at ? BLOCK(n) : NULL;
}

static struct tl_detour *in_the_way; /* a retired block that get_sparse() met */

/* A free place in c, from `at` on. */
static uintptr_t fit_in(
	const struct tl_chunk *c, const struct tl_plan *plan, uintptr_t at, size_t size)
{
	uintptr_t end = c->at + c->size < plan->reach_hi ? c->at + c->size : plan->reach_hi;
	struct tl_detour *d;

	at = at > c->at ? at : c->at;
	at = tl_fit_next(&plan->fit, at > plan->reach_lo ? at : plan->reach_lo);
	while (at < end && end - at >= size) {
		d = block_over(at, size);
		if (!d)
			return at;
		if (d->retired)
			in_the_way = d;
		at = tl_fit_next(&plan->fit, d->at + d->size);
	}
	return 0;
}

/* From `at` on. Wide fits fill a chunk from its bottom; what is given back below is found again. */
static uintptr_t fit_from(uintptr_t at, const struct tl_plan *plan, size_t size)
{
	bool wide = plan->fit.mask && !(plan->fit.mask & 0xffff);
	uintptr_t got = 0;

	at = tl_fit_next(&plan->fit, at);
	while (!got && at < plan->reach_hi) {
		struct tl_chunk *c = tl_chunk_at(at);

		if (!c) {
			c = tl_chunk_next(at);
			if (!c)
				break;
			at = tl_fit_next(&plan->fit, c->at);
			continue;
		}
		if (c->sparse && wide && at < c->at + c->used)
			at = c->at + c->used;
		if (c->sparse)
			got = fit_in(c, plan, at, size);
		if (got && wide)
			c->used = got + size - c->at;
		at = tl_fit_next(&plan->fit, c->at + c->size);
	}
	return got;
}

static uintptr_t fit_ours(const struct tl_plan *plan, size_t size)
{
	return fit_from(plan->reach_lo, plan, size);
}

/* For what may lie anywhere in reach: next fit. */
static uintptr_t fit_anywhere(const struct tl_plan *plan, size_t size)
{
	uintptr_t at = 0;

	if (next > plan->reach_lo && next < plan->reach_hi)
		at = fit_from(next, plan, size);
	if (!at)
		at = fit_ours(plan, size);
	if (at)
		next = at + size;
	return at;
}

/* What is left of the dense chunks, where nothing else is. */
static uintptr_t fit_dense(const struct tl_plan *plan, size_t size)
{
	for (struct tl_chunk *c = dense; c; c = c->next) {
		uintptr_t at = fit_in(c, plan, c->at + c->used, size);

		if (!at)
			continue;
		if (at - c->at < c->room)
			c->room = at - c->at;
		return at;
	}
	return 0;
}

/* Reserves [lo, lo + size) as it is. */
static bool sparse_new(uintptr_t lo, size_t size)
{
	int err;
	struct tl_chunk *c = chunk_new(lo, lo + size, size, &err);

	if (c)
		c->sparse = true;
	return c != NULL;
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
	if (sparse_new(area, AREA))
		return true;
	for (uintptr_t at = area; at < area + AREA; at += AREA_PIECE)
		any |= sparse_new(at, AREA_PIECE);
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

/* --- blocks ----------------------------------------------------------------------- */

static struct tl_detour *block_new(uintptr_t at, size_t size)
{
	struct tl_detour *d = tl_slab_get(&tl_core.detour_slab);

	if (!d)
		return NULL;
	d->at = at;
	d->size = (uint32_t)size;
	return d;
}

static struct tl_detour *place_at(uintptr_t at, size_t size)
{
	struct tl_detour *d = block_new(at, size);

	if (d) {
		d->placed = true;
		tl_index_insert(&placed, &d->place, at);
	}
	return d;
}

static struct tl_detour *get_sparse(const struct tl_plan *plan, size_t size, int *err)
{
	uintptr_t at;

	in_the_way = NULL;
	at = fit_ours(plan, size);
	if (!at)
		at = fit_new(plan, size);
	if (!at)
		at = fit_dense(plan, size);
	if (!at && in_the_way && tl_detour_release(in_the_way))
		at = fit_ours(plan, size);
	*err = at ? -TL_E_NOMEM : -TL_E_OUT_OF_REACH;
	return at ? place_at(at, size) : NULL;
}

/* Sparse chunks may have taken all there is near by: they have room enough. */
static struct tl_detour *get_dense(const struct tl_plan *plan, size_t size, int *err)
{
	struct tl_detour *d = from_free(plan, (unsigned)(size / CLASS) - 1);
	uintptr_t at = d ? 0 : cut_any(plan, size);

	*err = -TL_E_NOMEM;
	if (d || at)
		return d ? d : block_new(at, size);
	at = fit_anywhere(plan, size);
	if (at)
		return place_at(at, size);
	*err = grow(plan);
	at = *err ? 0 : cut(dense, plan, size);
	return at ? block_new(at, size) : NULL;
}

struct tl_detour *tl_detmem_get(const struct tl_plan *plan, size_t bound, int *err)
{
	size_t size = (bound + CLASS - 1) / CLASS * CLASS;
	struct tl_detour *d =
		plan->fit.mask ? get_sparse(plan, size, err) : get_dense(plan, size, err);

	in_use += d ? size : 0;
	return d;
}

void tl_detmem_usage(struct tl_usage *usage)
{
	usage->detours = in_use;
	for (struct tl_chunk *c = tl_chunk_next(0); c; c = tl_chunk_next(c->at + 1))
		usage->detours_reserved += c->size;
}

void tl_detmem_put(struct tl_detour *d)
{
	unsigned class = d->size / CLASS - 1;
	struct tl_chunk *c;

	in_use -= d->size;
	if (d->placed) {
		c = tl_chunk_at(d->at);
		if (c->used > d->at - c->at)
			c->used = d->at - c->at;
		tl_index_remove(&placed, &d->place);
		tl_slab_put(&tl_core.detour_slab, d);
		return;
	}
	d->retired = false;
	d->used = 0;
	d->plan.npoints = 0;
	d->next = blocks[class];
	blocks[class] = d;
}

void tl_detmem_foresee(bool begins)
{
	if (begins)
		next_before = next;
	else
		next = next_before;
	for (struct tl_chunk *c = tl_chunk_next(0); c; c = tl_chunk_next(c->at + 1)) {
		if (!c->sparse)
			continue;
		if (begins)
			c->began = c->used;
		else
			c->used = c->began;
	}
}

void tl_detmem_deinit(void)
{
	struct tl_chunk *c;
	uintptr_t at;

	for (c = tl_chunk_next(0); c; c = tl_chunk_next(at + 1)) {
		at = c->at;
		tl_os_code_release(c->at, c->size);
	}
	all.root = placed.root = explored.root = NULL;
	tl_slab_deinit(&explored_slab);
	dense = NULL;
	next = 0;
	in_use = 0;
	tl_slab_deinit(&chunk_slab);
	tl_fill(blocks, 0, sizeof(blocks));
}
