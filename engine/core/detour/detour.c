/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/*
 * The life of detours: built, live, retired, free. Its memory is used again
 * only when nobody can be inside any more. Until then a retired detour can be
 * revived for the same plan, so that switching a probe on and off for ever
 * takes no memory.
 */
#include "../base/broken.h"
#include "../base/core.h"
#include "../base/mem.h"
#include "../base/race.h"
#include "detour.h"
#include "site.h"

enum {
	LOOK_AT_MOST = 64, /* detours asked about one by one in one poll */
	SEEN_MAX = 1024, /* of detours' addresses that threads hold */
};

static struct tl_index retired; /* by plan.start, several chained by ->next */
static size_t nretired, look_from = LOOK_AT_MOST;

#define DETOUR(n) ((struct tl_detour *)(void *)((uint8_t *)(n)-offsetof(struct tl_detour, node)))

/* --- life ------------------------------------------------------------------ */

const struct tl_detour_watch *tl_detour_watch;

static void drop_sites(struct tl_detour *d)
{
	for (unsigned i = 0; i < d->plan.npoints; i++) {
		struct tl_site *s = d->plan.points[i].site;

		TL_ASSERT(s->refs > 0);
		s->refs--;
		tl_site_put(s);
	}
}

/* Its first points are all that is looked at. */
static void keep_plan(struct tl_detour *d, const struct tl_plan *plan)
{
	tl_copy(&d->plan, plan,
		offsetof(struct tl_plan, points) + plan->npoints * sizeof(plan->points[0]));
}

/* What a site's probes want by now says nothing of the detours that it has had. */
static void hold_sites(const struct tl_plan *plan)
{
	uint32_t gives = tl_plan_gives(plan);

	for (unsigned i = 0; i < plan->npoints; i++) {
		struct tl_site *s = plan->points[i].site;

		s->refs++;
		s->private_stack |= (gives & TL_PROBE_BIG_STACK) != 0;
		s->lacks |= TL_PROBE_ASKS & ~gives;
	}
}

int tl_detour_create(const struct tl_plan *plan, struct tl_detour **out)
{
	uint8_t buf[TL_DETOUR_MAX];
	size_t bound = plan->bound ? plan->bound : tl_arch_detour_bound(plan);
	struct tl_detour *d;
	int ret = -TL_E_NOMEM, len;

	TL_ASSERT_HELD();
	if (!bound || bound > TL_DETOUR_MAX)
		return -TL_E_NO_RELOCATE;
	d = tl_detmem_get(plan, bound, &ret);
	if (!d && !plan->fit.mask) {
		tl_detour_poll(true);
		d = tl_detmem_get(plan, bound, &ret);
	}
	if (!d)
		return ret;
	len = tl_arch_detour_build(plan, &tl_core.env, d->at, buf);
	TL_ASSERT(len <= (int)bound);
	ret = len;
	if (len >= 0 && !tl_core.foreseeing)
		ret = tl_os_code_write(d->at, buf, (size_t)len);
	if (ret < 0) {
		tl_detmem_put(d);
		return ret;
	}
	d->used = (uint32_t)len;
	keep_plan(d, plan);
	d->next = NULL;
	hold_sites(plan);
	if (tl_detour_watch && !tl_core.foreseeing)
		tl_detour_watch->used(d);
	*out = d;
	return 0;
}

void tl_detour_cancel(struct tl_detour *d)
{
	if (!d)
		return;
	if (tl_detour_watch && !tl_core.foreseeing)
		tl_detour_watch->retired(d);
	drop_sites(d);
	tl_detmem_put(d);
}

void tl_detour_retire(struct tl_detour *d)
{
	struct tl_node *n = tl_index_find(&retired, d->plan.start);

	TL_ASSERT(!d->retired);
	if (tl_detour_watch)
		tl_detour_watch->retired(d);
	tl_detours_look_again();
	d->retired = true;
	d->next = NULL;
	nretired++;
	if (n) {
		d->next = DETOUR(n)->next;
		DETOUR(n)->next = d;
	} else {
		tl_index_insert(&retired, &d->node, d->plan.start);
	}
	tl_race_point(RP_RETIRED);
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
		a->no_red_zone != b->no_red_zone || a->form != b->form || a->prefix != b->prefix ||
		a->moved != b->moved || a->fit.from != b->fit.from || a->fit.mask != b->fit.mask ||
		a->fit.match != b->fit.match || a->start != b->start ||
		!tl_equal(a->orig, b->orig, a->len))
		return false;
	for (unsigned i = 0; i < a->npoints; i++) {
		const struct tl_point *x = &a->points[i], *y = &b->points[i];

		if (x->addr != y->addr || x->site != y->site || x->flags != y->flags ||
			x->post != y->post)
			return false;
	}
	return true;
}

bool tl_detours_retired(void)
{
	return nretired;
}

struct tl_detour *tl_detour_retired(const struct tl_plan *plan)
{
	struct tl_node *n = tl_index_find(&retired, plan->start);
	struct tl_detour *d = n ? DETOUR(n) : NULL;

	while (d && !same_plan(&d->plan, plan))
		d = d->next;
	return d;
}

struct tl_detour *tl_detour_revive(const struct tl_plan *plan)
{
	struct tl_detour *d = tl_detour_retired(plan);

	if (d) {
		unretire(d);
		keep_plan(d, plan); /* it may be here for other reasons */
		if (tl_detour_watch)
			tl_detour_watch->used(d);
	}
	return d;
}

/* --- giving back --------------------------------------------------------------- */

static void release(struct tl_detour *d)
{
	unretire(d);
	drop_sites(d);
	tl_detmem_put(d);
}

/* --- who is inside -------------------------------------------------------------- */

/* What the threads held of all detours when they were looked at last: enough for what had been retired before. */
static struct {
	bool valid;
	int result;
	size_t n;
	uintptr_t seen[SEEN_MAX];
} last_look;

void tl_detours_look_again(void)
{
	last_look.valid = false;
}

static void see(void *arg, uintptr_t addr)
{
	(void)arg;
	if (!tl_chunk_at(addr))
		return;
	if (last_look.n < SEEN_MAX)
		last_look.seen[last_look.n++] = addr;
	else
		last_look.result = -TL_E_LIMIT;
}

static void look(void)
{
	uintptr_t lo, hi;
	int ret;

	if (last_look.valid || !tl_chunks_span(&lo, &hi))
		return;
	last_look.valid = true;
	last_look.n = 0;
	last_look.result = 0;
	tl_race_point(RP_LOOK);
	ret = tl_os_seen(lo, hi, see, NULL);
	last_look.result = ret ? ret : last_look.result;
}

bool tl_detour_is_left(const struct tl_detour *d)
{
	look();
	if (last_look.result == -TL_E_LIMIT)
		return tl_os_quiet(d->at, d->at + d->size) == 0;
	for (size_t i = 0; i < last_look.n; i++)
		if (last_look.seen[i] - d->at < d->size)
			return false;
	return last_look.result == 0;
}

bool tl_detour_release(struct tl_detour *d)
{
	if (!tl_detour_is_left(d))
		return false;
	release(d);
	return true;
}

static struct tl_detour *next_retired(uintptr_t from)
{
	struct tl_node *n = tl_index_ceil(&retired, from);

	return n ? DETOUR(n) : NULL;
}

static struct tl_detour *each_retired(struct tl_detour *d)
{
	return d->next ? d->next : next_retired(d->plan.start + 1);
}

/* Notes for each chunk which of its addresses are retired blocks. */
static void note_spans(void)
{
	struct tl_chunk *c;
	struct tl_detour *d;

	for (c = tl_chunk_next(0); c; c = tl_chunk_next(c->at + 1)) {
		c->lo = UINTPTR_MAX;
		c->hi = 0;
	}
	for (d = next_retired(0); d; d = each_retired(d)) {
		c = tl_chunk_at(d->at);
		c->lo = d->at < c->lo ? d->at : c->lo;
		c->hi = d->at + d->size > c->hi ? d->at + d->size : c->hi;
	}
}

/* Where each look is a question: one a chunk. */
static void ask_chunks(void)
{
	struct tl_chunk *c;

	note_spans();
	for (c = tl_chunk_next(0); c; c = tl_chunk_next(c->at + 1))
		c->quiet = c->lo < c->hi && tl_os_quiet(c->lo, c->hi) == 0;
}

size_t tl_detour_poll(bool force)
{
	unsigned asked = 0;
	struct tl_detour *d, *next;
	bool singly;

	TL_ASSERT_HELD();
	if (!nretired || (!force && nretired < look_from))
		return nretired;
	tl_detours_look_again();
	look();
	singly = last_look.result == -TL_E_LIMIT;
	if (singly)
		ask_chunks();
	for (d = next_retired(0); d; d = next) {
		next = each_retired(d);
		if ((singly && tl_chunk_at(d->at)->quiet) ||
			((!singly || asked++ < LOOK_AT_MOST) && tl_detour_is_left(d)))
			release(d);
	}
	look_from = nretired * 2 + LOOK_AT_MOST;
	return nretired;
}

bool tl_detours_are_left(uintptr_t addr)
{
	struct tl_detour *d, *e;

	for (d = next_retired(addr - TL_PATCH_MAX); d && d->plan.start <= addr;
		d = next_retired(d->plan.start + 1))
		for (e = d; e; e = e->next)
			if (!tl_detour_is_left(e))
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
			if (!tl_detour_release(e))
				return true;
		}
	}
	return false;
}

uintptr_t tl_detour_text(uintptr_t ip)
{
	struct tl_detour *d;

	for (d = next_retired(0); d; d = each_retired(d))
		if (ip - d->at < d->used)
			return tl_arch_ip_to_text(&d->plan, &tl_core.env, d->at, ip);
	return 0;
}

/* Where somebody may still be in one of them, all memory stays mapped for good. */
void tl_detour_deinit(void)
{
	if (tl_detour_poll(true))
		return;
	tl_detmem_deinit();
	look_from = LOOK_AT_MOST;
}
