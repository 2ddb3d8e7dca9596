/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/* Patches: which one holds an address, and what they change in the text. */
#include "../base/broken.h"
#include "../base/core.h"
#include "../base/mem.h"
#include "../detour/detour.h"
#include "../detour/site.h"
#include "change.h"
#include "journal.h"
#include "patch.h"

#define PATCH(n) ((struct tl_patch *)(void *)((uint8_t *)(n)-offsetof(struct tl_patch, node)))

enum { ROUNDS_MAX = 6 };

struct tl_patches tl_patches = {.slab = {.size = sizeof(struct tl_patch)}};

/* --- looking up --------------------------------------------------------- */

struct tl_patch *tl_patch_below(uintptr_t end)
{
	struct tl_node *n = tl_index_floor(&tl_patches.planned, end - 1);

	return n ? PATCH(n) : NULL;
}

struct tl_patch *tl_patch_at(uintptr_t addr)
{
	struct tl_patch *p = tl_patch_below(addr + 1);

	return p && addr - p->plan->start < p->plan->held ? p : NULL;
}

bool tl_sites_quiet(struct tl_site *const *sites, size_t n)
{
	tl_detours_look_again();
	for (size_t i = 0; i < n; i++)
		if ((sites[i]->patch && !tl_detour_is_left(sites[i]->patch->detour)) ||
			!tl_detours_are_left(sites[i]->addr))
			return false;
	return true;
}

const struct tl_point *tl_site_point(const struct tl_site *s)
{
	const struct tl_plan *plan = s->patch->plan;

	for (unsigned i = 0; i < plan->npoints; i++)
		if (plan->points[i].site == s)
			return &plan->points[i];
	tl_broken("a patch does not know its site");
	return &plan->points[0];
}

void tl_patch_enter(struct tl_patch *p)
{
	tl_index_insert(&tl_patches.written, &p->text, p->plan->start);
	tl_core.ntraps += p->plan->rung == TL_RUNG_TRAP;
	for (unsigned i = 0; i < p->plan->npoints; i++)
		p->plan->points[i].site->patch = p;
}

void tl_patch_leave(struct tl_patch *p)
{
	tl_index_remove(&tl_patches.written, &p->text);
	tl_core.ntraps -= p->plan->rung == TL_RUNG_TRAP;
	for (unsigned i = 0; i < p->plan->npoints; i++)
		p->plan->points[i].site->patch = NULL;
	tl_journal_drop(p->journal);
	tl_detour_retire(p->detour);
	tl_slab_put(&tl_patches.slab, p);
}

static void overlay(const struct tl_patch *p, uintptr_t addr, uint8_t *buf, size_t len)
{
	for (size_t i = 0; i < p->plan->changed; i++) {
		uintptr_t at = p->plan->start + i;

		if (at >= addr && at - addr < len)
			buf[at - addr] = p->plan->orig[i];
	}
}

struct tl_patch *tl_patch_written(uintptr_t from)
{
	struct tl_node *n = tl_index_ceil(&tl_patches.written, from);

	return n ? (struct tl_patch *)(void *)((uint8_t *)n - offsetof(struct tl_patch, text))
		 : NULL;
}

void tl_patch_original(uintptr_t addr, uint8_t *buf, size_t len)
{
	uintptr_t from = addr > TL_PATCH_MAX ? addr - TL_PATCH_MAX : 0;
	struct tl_patch *p = tl_patch_written(from);

	for (; p && p->plan->start < addr + len; p = tl_patch_written(p->plan->start + 1))
		overlay(p, addr, buf, len);
}

void tl_patches_deinit(void)
{
	tl_patches.planned = tl_patches.written = (struct tl_index){0};
	tl_slab_deinit(&tl_patches.slab);
}

/* --- the text ----------------------------------------------------------------------------- */

/* Adds patch bytes (or, with NULL, original ones) to a change that covers them. */
static void draw(struct tl_change *c, uint8_t *side, const struct tl_patch *p, const uint8_t *bytes)
{
	tl_copy(side + (p->plan->start - c->addr), bytes, p->plan->changed);
}

static bool same_window(const struct tl_patch *a, const struct tl_patch *b)
{
	return a && b && a->plan->rung == TL_RUNG_WINDOW && b->plan->rung == TL_RUNG_WINDOW &&
	       a->plan->start == b->plan->start && a->plan->len == b->plan->len;
}

static bool sorted(struct tl_patch *const *a, size_t n)
{
	for (size_t i = 1; i < n; i++)
		if (a[i - 1]->plan->start > a[i]->plan->start)
			return false;
	return true;
}

static void sort_patches(struct tl_patch **a, size_t n)
{
	if (sorted(a, n))
		return;
	for (size_t gap = n / 2; gap; gap /= 2)
		for (size_t i = gap; i < n; i++)
			for (size_t j = i; j >= gap && a[j - gap]->plan->start > a[j]->plan->start;
				j -= gap) {
				struct tl_patch *t = a[j];

				a[j] = a[j - gap];
				a[j - gap] = t;
			}
}

size_t tl_patch_count(const struct tl_patch *p)
{
	size_t n = 0;

	for (; p; p = p->next)
		n++;
	return n;
}

/* A fresh one where none like it has stood: threads may stand on its inner bytes. */
static bool new_window(struct tl_patch *const *a, size_t n, const struct tl_patch *p)
{
	if (p->pulled || p->plan->rung != TL_RUNG_WINDOW)
		return false;
	for (size_t i = 0; i < n; i++)
		if (a[i]->pulled && same_window(a[i], p))
			return false;
	return true;
}

/*
 * A jump whose own bytes stay, while those that it shares with a neighbour change: the order matters all the same,
 * as it must not be there meanwhile.
 */
static bool leads_elsewhere(const struct tl_patch *old, const struct tl_patch *fresh)
{
	return old && fresh && old->plan->fit.mask && fresh->plan->fit.mask &&
	       old->detour != fresh->detour;
}

/* One change for patches a[0..n) whose bytes touch. Returns false when nothing changes. */
static bool make_change(struct tl_change *c, struct tl_patch **a, size_t n, size_t len)
{
	struct tl_patch *old = NULL, *fresh = NULL;
	bool any;

	tl_fill(c, 0, sizeof(*c));
	c->addr = a[0]->plan->start;
	c->len = (uint8_t)len;
	for (size_t i = 0; i < n; i++) {
		draw(c, c->from, a[i], a[i]->plan->orig);
		draw(c, c->to, a[i], a[i]->plan->orig);
	}
	for (size_t i = 0; i < n; i++) {
		if (a[i]->pulled) {
			draw(c, c->from, a[i], a[i]->bytes);
			old = a[i];
			c->headed |= old->plan->rung == TL_RUNG_TRAP && old->plan->start == c->addr;
		} else {
			draw(c, c->to, a[i], a[i]->bytes);
			fresh = c->window ? fresh : a[i];
			c->blocked |= c->window && new_window(a, n, a[i]); /* two at once */
			c->window |= new_window(a, n, a[i]);
		}
	}
	c->patch = fresh ? fresh : old;
	c->trapped = old && old->plan->rung == TL_RUNG_TRAP;
	c->one_insn = !c->window;
	c->taken = !fresh && !c->window;
	any = leads_elsewhere(old, fresh) || !tl_equal(c->from, c->to, len);
	for (size_t i = 0; i < n; i++)
		a[i]->change = any ? c : NULL;
	return any;
}

/* Old and fresh patches, merged where their bytes touch. */
static int make_changes(struct tl_patch **a, size_t n, struct tl_change *c, size_t *nchanges)
{
	size_t i, j;

	*nchanges = 0;
	for (i = 0; i < n; i = j) {
		uintptr_t lo = a[i]->plan->start, hi = lo + a[i]->plan->changed;

		for (j = i + 1; j < n && a[j]->plan->start < hi; j++)
			if (a[j]->plan->start + a[j]->plan->changed > hi)
				hi = a[j]->plan->start + a[j]->plan->changed;
		if (hi - lo > sizeof(c->from))
			return -TL_E_LIMIT;
		if (make_change(&c[*nchanges], a + i, j - i, hi - lo))
			++*nchanges;
		if (*nchanges && c[*nchanges - 1].blocked)
			return -TL_E_BUSY;
	}
	return 0;
}

/* Up to where changes must come in order with that of p; its start: they need not. */
static uintptr_t reach(const struct tl_patch *p)
{
	const struct tl_plan *plan = p->plan;

	if (plan->fit.mask)
		return plan->start + plan->held;
	return plan->start + (!p->pulled && plan->rung == TL_RUNG_WINDOW ? plan->len : 0);
}

/*
 * A jump that shares the bytes behind it stands only while they do: it goes
 * before they change, and comes after. And a window's detour comes back behind
 * it: what it covers there must not be inside another jump any more. True:
 * some change got a later round.
 */
static bool put_in_order(const struct tl_patch *p, const struct tl_change *end)
{
	struct tl_change *c = p->change, *d;
	bool any = false;

	for (d = c ? c + 1 : NULL; d && d < end && d->addr < reach(p); d++) {
		struct tl_change *first = p->pulled ? c : d, *then = p->pulled ? d : c;

		d[-1].linked = true;
		if (then->round > first->round || first->tangled)
			continue;
		any = true;
		if (first->round < ROUNDS_MAX)
			then->round = (uint8_t)(first->round + 1);
		else /* both before and after */
			first->tangled = then->tangled = true;
	}
	return any;
}

static void order_changes(
	struct tl_patch *const *all, size_t n, const struct tl_change *c, size_t nchanges)
{
	bool again = true;

	while (again) {
		again = false;
		for (size_t i = 0; i < n; i++)
			again |= put_in_order(all[i], c + nchanges);
	}
}

/* Its sites do without a window in the next try. */
static void make_shy(struct tl_batch *b, const struct tl_patch *p)
{
	for (unsigned i = 0; i < p->plan->npoints; i++)
		p->plan->points[i].site->shy = true;
	b->blocked = true;
}

int tl_patches_write(struct tl_batch *b)
{
	size_t n = tl_patch_count(b->old) + tl_patch_count(b->fresh), nchanges, i = n;
	size_t size = n * (sizeof(struct tl_change) + sizeof(struct tl_patch *));
	struct tl_patch *p, **all;
	struct tl_change *c;
	int ret;

	if (!n)
		return 0;
	c = tl_os_alloc(size);
	if (!c)
		return -TL_E_NOMEM;
	all = (struct tl_patch **)(void *)(c + n);
	/* Each list has its newest first: mostly the highest. */
	for (p = b->fresh; p; p = p->next)
		all[--i] = p;
	for (p = b->old; p; p = p->next)
		all[--i] = p;
	sort_patches(all, n);
	ret = make_changes(all, n, c, &nchanges);
	if (!ret) {
		order_changes(all, n, c, nchanges);
		ret = tl_text_apply(c, nchanges);
	}
	for (i = 0; ret && i < nchanges; i++)
		if (c[i].blocked)
			make_shy(b, c[i].patch);
	tl_os_free(c, size);
	return ret;
}
