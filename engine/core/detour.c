/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/*
 * Detour memory and the life of detours: built, live, retired, free.
 *
 * Memory comes in few large reservations, cut from the bottom up into blocks
 * of 64-byte classes. A block is used again only when nobody can be inside
 * any more. Until then a retired detour can be revived for the same plan, so
 * that switching a probe on and off for ever takes no memory.
 */
#include "internal.h"

enum {
	CLASS = 64,
	CLASSES = TL_DETOUR_MAX / CLASS,
	CHUNK_MAX = 4 << 20,
	CHUNK_MIN = 64 << 10,
	LOOK_AT_MOST = 64, /* detours asked about one by one in one poll */
};

struct chunk {
	uintptr_t at;
	size_t size, used;
	struct chunk *next;
};

static struct chunk *chunks;
static struct tl_slab chunk_slab = {.size = sizeof(struct chunk)};
static struct tl_detour *blocks[CLASSES]; /* free */
static struct tl_index retired; /* by plan.start, several chained by ->next */
static size_t nretired, look_from = LOOK_AT_MOST;

#define DETOUR(n) ((struct tl_detour *)(void *)((uint8_t *)(n)-offsetof(struct tl_detour, node)))

/* --- memory ------------------------------------------------------------- */

static bool in_reach(const struct tl_plan *plan, uintptr_t at, size_t size)
{
	return at >= plan->reach_lo && at + size <= plan->reach_hi && at + size > at;
}

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

static uintptr_t cut(struct chunk *c, const struct tl_plan *plan, size_t size)
{
	uintptr_t at = c->at + c->used;

	if (c->size - c->used < size || !in_reach(plan, at, size))
		return 0;
	c->used += size;
	return at;
}

static int grow(const struct tl_plan *plan)
{
	struct chunk *c = tl_slab_get(&chunk_slab);
	int ret = -TL_E_NOMEM;

	if (!c)
		return ret;
	for (c->size = CHUNK_MAX; c->size >= CHUNK_MIN; c->size /= 2) {
		ret = tl_os_code_reserve(plan->reach_lo, plan->reach_hi, c->size, &c->at);
		if (!ret)
			break;
	}
	if (ret) {
		tl_slab_put(&chunk_slab, c);
		return ret;
	}
	c->next = chunks;
	chunks = c;
	return 0;
}

static struct tl_detour *block_get(const struct tl_plan *plan, size_t bound, int *err)
{
	unsigned class = (unsigned)((bound + CLASS - 1) / CLASS) - 1;
	size_t size = (class + 1) * (size_t)CLASS;
	struct tl_detour *d = from_free(plan, class);
	struct chunk *c;
	uintptr_t at = 0;

	if (d)
		return d;
	d = tl_slab_get(&tl_core.detour_slab);
	*err = -TL_E_NOMEM;
	if (!d)
		return NULL;
	for (c = chunks; c && !at; c = c->next)
		at = cut(c, plan, size);
	if (!at) {
		*err = grow(plan);
		at = *err ? 0 : cut(chunks, plan, size);
	}
	if (!at) {
		tl_slab_put(&tl_core.detour_slab, d);
		return NULL;
	}
	d->at = at;
	d->size = (uint32_t)size;
	return d;
}

static void block_put(struct tl_detour *d)
{
	unsigned class = d->size / CLASS - 1;

	d->retired = false;
	d->used = 0;
	d->plan.npoints = 0;
	d->next = blocks[class];
	blocks[class] = d;
}

/* --- life ------------------------------------------------------------------ */

static void drop_sites(struct tl_detour *d)
{
	for (unsigned i = 0; i < d->plan.npoints; i++) {
		struct tl_site *s = d->plan.points[i].site;

		TL_ASSERT(s->refs > 0);
		s->refs--;
		tl_site_put(s);
	}
}

int tl_detour_create(const struct tl_plan *plan, struct tl_detour **out)
{
	uint8_t buf[TL_DETOUR_MAX];
	size_t bound = tl_arch_detour_bound(plan);
	struct tl_detour *d;
	int ret = -TL_E_NOMEM, len;

	TL_ASSERT_HELD();
	if (!bound || bound > TL_DETOUR_MAX)
		return -TL_E_NO_RELOCATE;
	d = block_get(plan, bound, &ret);
	if (!d) {
		tl_detour_poll(true);
		d = block_get(plan, bound, &ret);
	}
	if (!d)
		return ret;
	len = tl_arch_detour_build(plan, &tl_core.env, d->at, buf);
	TL_ASSERT(len <= (int)bound);
	ret = len < 0 ? len : tl_os_code_write(d->at, buf, (size_t)len);
	if (ret < 0) {
		block_put(d);
		return ret;
	}
	d->used = (uint32_t)len;
	d->plan = *plan;
	d->next = NULL;
	for (unsigned i = 0; i < plan->npoints; i++)
		plan->points[i].site->refs++;
	*out = d;
	return 0;
}

void tl_detour_cancel(struct tl_detour *d)
{
	if (!d)
		return;
	drop_sites(d);
	block_put(d);
}

void tl_detour_retire(struct tl_detour *d)
{
	struct tl_node *n = tl_index_find(&retired, d->plan.start);

	TL_ASSERT(!d->retired);
	d->retired = true;
	d->next = NULL;
	nretired++;
	if (n) {
		d->next = DETOUR(n)->next;
		DETOUR(n)->next = d;
	} else {
		tl_index_insert(&retired, &d->node, d->plan.start);
	}
}

static void unretire(struct tl_detour *d)
{
	struct tl_node *n = tl_index_find(&retired, d->plan.start);
	struct tl_detour *head = n ? DETOUR(n) : NULL, **link;

	TL_ASSERT(head && d->retired);
	if (head == d) {
		tl_index_remove(&retired, &d->node);
		if (d->next)
			tl_index_insert(&retired, &d->next->node, d->plan.start);
	} else {
		for (link = &head->next; *link != d; link = &(*link)->next)
			;
		*link = d->next;
	}
	d->next = NULL;
	d->retired = false;
	nretired--;
}

static bool same_plan(const struct tl_plan *a, const struct tl_plan *b)
{
	if (a->rung != b->rung || a->port != b->port || a->npoints != b->npoints ||
		a->len != b->len || a->changed != b->changed || a->early != b->early ||
		a->start != b->start || !tl_equal(a->orig, b->orig, a->len))
		return false;
	for (unsigned i = 0; i < a->npoints; i++) {
		const struct tl_point *x = &a->points[i], *y = &b->points[i];

		if (x->addr != y->addr || x->site != y->site || x->flags != y->flags ||
			x->post != y->post)
			return false;
	}
	return true;
}

struct tl_detour *tl_detour_revive(const struct tl_plan *plan)
{
	struct tl_node *n = tl_index_find(&retired, plan->start);
	struct tl_detour *d = n ? DETOUR(n) : NULL;

	for (; d; d = d->next)
		if (same_plan(&d->plan, plan)) {
			unretire(d);
			return d;
		}
	return NULL;
}

/* --- giving back --------------------------------------------------------------- */

static void release(struct tl_detour *d)
{
	unretire(d);
	drop_sites(d);
	block_put(d);
}

static struct tl_detour *next_retired(uintptr_t from)
{
	struct tl_node *n = tl_index_ceil(&retired, from);

	return n ? DETOUR(n) : NULL;
}

/* The addresses of the retired blocks of one chunk. */
static bool retired_span(const struct chunk *c, uintptr_t *lo, uintptr_t *hi)
{
	struct tl_detour *d, *e;

	*lo = UINTPTR_MAX;
	*hi = 0;
	for (d = next_retired(0); d; d = next_retired(d->plan.start + 1))
		for (e = d; e; e = e->next) {
			if (e->at < c->at || e->at - c->at >= c->size)
				continue;
			*lo = e->at < *lo ? e->at : *lo;
			*hi = e->at + e->size > *hi ? e->at + e->size : *hi;
		}
	return *lo < *hi;
}

/* Releases the retired blocks in [lo, hi): all of them, or those that are quiet when asked singly. */
static void release_in(uintptr_t lo, uintptr_t hi, bool all)
{
	unsigned looks = 0;
	struct tl_detour *d, *e, *next;
	uintptr_t key;

	for (d = next_retired(0); d; d = next_retired(key + 1)) {
		key = d->plan.start;
		for (e = d; e; e = next) {
			next = e->next;
			if (e->at < lo || e->at >= hi)
				continue;
			if (all || (looks++ < LOOK_AT_MOST && !tl_os_quiet(e->at, e->at + e->size)))
				release(e);
		}
	}
}

/* One question a chunk; where somebody is in one of its blocks, a few asked singly. */
size_t tl_detour_poll(bool force)
{
	uintptr_t lo, hi;
	struct chunk *c;

	TL_ASSERT_HELD();
	if (!nretired || (!force && nretired < look_from))
		return nretired;
	for (c = chunks; c; c = c->next)
		if (retired_span(c, &lo, &hi))
			release_in(lo, hi, tl_os_quiet(lo, hi) == 0);
	look_from = nretired * 2 + LOOK_AT_MOST;
	return nretired;
}

bool tl_detour_site_quiet(const struct tl_site *s)
{
	struct tl_detour *d, *e;

	if (s->patch &&
		tl_os_quiet(s->patch->detour->at, s->patch->detour->at + s->patch->detour->size))
		return false;
	for (d = next_retired(s->addr - TL_PATCH_MAX); d && d->plan.start <= s->addr;
		d = next_retired(d->plan.start + 1))
		for (e = d; e; e = e->next)
			if (tl_os_quiet(e->at, e->at + e->size))
				return false;
	return true;
}

bool tl_detour_returns_into(uintptr_t lo, uintptr_t hi)
{
	/* A detour comes back behind its patch, which is at most TL_PATCH_MAX long. */
	uintptr_t from = lo - TL_PATCH_MAX;
	struct tl_detour *d, *e, *next;
	uintptr_t key;

	for (d = next_retired(from); d && d->plan.start < hi; d = next_retired(key + 1)) {
		key = d->plan.start;
		for (e = d; e; e = next) {
			uintptr_t end = e->plan.start + e->plan.len;

			next = e->next;
			if (end <= lo || end >= hi)
				continue;
			if (tl_os_quiet(e->at, e->at + e->size))
				return true;
			release(e);
		}
	}
	return false;
}

/* Chunks in which somebody may still be stay mapped for good. */
void tl_detour_deinit(void)
{
	struct chunk *c, *next;
	size_t left = tl_detour_poll(true);

	for (c = chunks; c && !left; c = next) {
		next = c->next;
		tl_os_code_release(c->at, c->size);
	}
	if (left)
		return;
	chunks = NULL;
	tl_slab_deinit(&chunk_slab);
	tl_fill(blocks, 0, sizeof(blocks));
	look_from = LOOK_AT_MOST;
}
