/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/*
 * Reserved text: who may not be probed, and why. Ranges may overlap; they are
 * indexed by their start, and looked for as far down as the widest one reaches.
 */
#include <trapless/reserve.h>
#include "../base/broken.h"
#include "../base/index.h"
#include "../base/slab.h"
#include "reserved.h"
#include "unpaired.h"

struct range {
	struct tl_node node;
	struct tl_reservation *r;
	struct range *same; /* others that begin here */
};

static struct tl_index ranges;
static struct tl_slab slab = {.size = sizeof(struct range)};
/* But for our own code, which is far wider than all others, and asked by itself. */
static size_t widest;
static struct tl_reservation own;

#define RANGE(n) ((struct range *)(void *)((uint8_t *)(n)-offsetof(struct range, node)))

enum {
	FORBIDS_PROBES = 1 << TL_RESERVE_TEXT | 1 << TL_RESERVE_PROBE | 1 << TL_RESERVE_OWN,
	FORBIDS_RETURNS = 1 << TL_RESERVE_RETURN,
};

static const int codes[] = {
	[TL_RESERVE_TEXT] = -TL_E_RESERVED,
	[TL_RESERVE_PROBE] = -TL_E_BLACKLIST,
	[TL_RESERVE_RETURN] = -TL_E_RET_BLACKLIST,
	[TL_RESERVE_OWN] = -TL_E_SELF,
};

/* --- the ranges ------------------------------------------------------------- */

int tl_reserved_insert(struct tl_reservation *r)
{
	struct tl_node *n = tl_index_find(&ranges, r->start);
	struct range *g = tl_slab_get(&slab);

	if (!g)
		return -TL_E_NOMEM;
	g->r = r;
	if (n) {
		g->same = RANGE(n)->same;
		RANGE(n)->same = g;
	} else {
		tl_index_insert(&ranges, &g->node, r->start);
	}
	if (r != &own && r->size > widest)
		widest = r->size;
	r->reserved = TL_RESERVED;
	return 0;
}

void tl_reserved_drop(struct tl_reservation *r)
{
	struct tl_node *n = tl_index_find(&ranges, r->start);
	struct range *first = n ? RANGE(n) : NULL, *g = first, *before = NULL;

	for (; g && g->r != r; g = g->same)
		before = g;
	TL_ASSERT(g);
	if (!g)
		return;
	r->reserved = 0;
	if (before) {
		before->same = g->same;
	} else {
		tl_index_remove(&ranges, &first->node);
		if (first->same)
			tl_index_insert(&ranges, &first->same->node, r->start);
	}
	tl_slab_put(&slab, g);
}

/* It begins below `hi`. */
static bool holds(const struct tl_reservation *r, uintptr_t lo, unsigned kinds)
{
	return kinds >> r->kind & 1 && (r->start >= lo || lo - r->start < r->size);
}

/* One of these kinds that overlaps [lo, hi), or NULL. */
static const struct tl_reservation *overlapping(uintptr_t lo, uintptr_t hi, unsigned kinds)
{
	struct tl_node *n = hi ? tl_index_floor(&ranges, hi - 1) : NULL;

	if (own.reserved && own.start < hi && holds(&own, lo, kinds))
		return &own;
	for (; n && (n->key >= lo || lo - n->key < widest);
		n = n->key ? tl_index_floor(&ranges, n->key - 1) : NULL)
		for (const struct range *g = RANGE(n); g; g = g->same)
			if (holds(g->r, lo, kinds))
				return g->r;
	return NULL;
}

const struct tl_reservation *tl_reserved_over(uintptr_t lo, uintptr_t hi, int why)
{
	const struct tl_reservation *r =
		overlapping(lo, hi, why == -TL_E_RET_BLACKLIST ? FORBIDS_RETURNS : FORBIDS_PROBES);

	return r && codes[r->kind] == why ? r : NULL;
}

int tl_reserved_each(int (*fn)(const struct tl_reservation *r, void *arg), void *arg)
{
	struct tl_node *n;
	int ret = 0;

	for (n = tl_index_ceil(&ranges, 0); n && !ret; n = tl_index_ceil(&ranges, n->key + 1))
		for (const struct range *g = RANGE(n); g && !ret; g = g->same)
			ret = fn(g->r, arg);
	return ret;
}

int tl_reserve_own(uintptr_t lo, uintptr_t hi)
{
	struct tl_node *n = tl_index_find(&ranges, lo);

	TL_ASSERT_HELD();
	for (const struct range *g = n ? RANGE(n) : NULL; g; g = g->same)
		if (g->r == &own)
			return 0;
	own.start = lo;
	own.size = hi - lo;
	own.kind = TL_RESERVE_OWN;
	own.reason = "trapless's own code";
	return lo < hi ? tl_reserved_insert(&own) : 0;
}

void tl_reserve_deinit(void)
{
	struct tl_node *n;

	while ((n = tl_index_ceil(&ranges, 0)))
		tl_reserved_drop(RANGE(n)->r);
	widest = 0;
	tl_slab_deinit(&slab);
}

/* --- what the rest of the core asks ----------------------------------------------- */

int tl_text_claimed(uintptr_t lo, uintptr_t hi)
{
	const struct tl_reservation *r = overlapping(lo, hi, FORBIDS_PROBES);

	return r ? codes[r->kind] : tl_os_text_reserved(lo, hi);
}

int tl_refuse_return(uintptr_t entry)
{
	return overlapping(entry, entry + 1, FORBIDS_RETURNS) || tl_ret_forbidden(entry)
		       ? -TL_E_RET_BLACKLIST
		       : 0;
}
