/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/*
 * From wanted sites to changed text: a batch takes out the patches that no
 * longer fit, plans new ones (place.c), and writes all text at once (patch.c).
 * Until the text is written everything can be taken back.
 */
#include "../base/broken.h"
#include "../base/core.h"
#include "../base/mem.h"
#include "../base/race.h"
#include "../detour/detour.h"
#include "../detour/site.h"
#include "../text/journal.h"
#include "../text/patch.h"
#include "../text/traps.h"
#include "batch.h"
#include "gone.h"
#include "optimizer.h"

enum { COMMIT_TRIES = 6 };

/* --- the batch's sites ------------------------------------------------------ */

int tl_batch_init(struct tl_batch *b, size_t expect)
{
	tl_fill(b, 0, sizeof(*b));
	b->max = expect < 64 ? 64 : expect + expect / 4;
	b->sites = tl_os_alloc(b->max * sizeof(b->sites[0]));
	if (b->sites)
		return 0;
	b->sites = b->few;
	b->max = TL_BATCH_FEW;
	return expect <= b->max ? 0 : -TL_E_NOMEM;
}

static void free_sites(struct tl_batch *b)
{
	if (b->sites && b->sites != b->few)
		tl_os_free(b->sites, b->max * sizeof(b->sites[0]));
	b->sites = NULL;
}

int tl_batch_add(struct tl_batch *b, struct tl_site *s)
{
	if (s->queued)
		return 0;
	if (b->nsites == b->max) {
		struct tl_site **grown = tl_os_alloc(2 * b->max * sizeof(*grown));

		if (!grown)
			return -TL_E_NOMEM;
		tl_copy(grown, b->sites, b->max * sizeof(*grown));
		free_sites(b);
		b->sites = grown;
		b->max *= 2;
	}
	s->queued = true;
	s->planned = NULL;
	b->sites[b->nsites++] = s;
	return 0;
}

void tl_batch_deinit(struct tl_batch *b)
{
	for (size_t i = 0; i < b->nsites; i++) {
		b->sites[i]->queued = b->sites[i]->shy = false;
		tl_site_put(b->sites[i]);
	}
	free_sites(b);
	b->nsites = 0;
}

static void sift(struct tl_site **a, size_t i, size_t n)
{
	for (;;) {
		size_t big = 2 * i + 1;
		struct tl_site *t;

		if (big >= n)
			return;
		if (big + 1 < n && a[big + 1]->addr > a[big]->addr)
			big++;
		if (a[i]->addr >= a[big]->addr)
			return;
		t = a[i];
		a[i] = a[big];
		a[big] = t;
		i = big;
	}
}

static bool sorted(struct tl_site *const *a, size_t n)
{
	for (size_t i = 1; i < n; i++)
		if (a[i - 1]->addr > a[i]->addr)
			return false;
	return true;
}

static void sort_sites(struct tl_site **a, size_t n)
{
	if (sorted(a, n))
		return;
	for (size_t i = n / 2; i--;)
		sift(a, i, n);
	while (n > 1) {
		struct tl_site *t = a[--n];

		a[n] = a[0];
		a[0] = t;
		sift(a, 0, n);
	}
}

/* --- taking out what no longer fits --------------------------------------------- */

static bool served(const struct tl_site *s)
{
	const struct tl_point *pt;

	if (!s->want || !s->patch)
		return !s->want && !s->patch;
	pt = tl_site_point(s);
	if (((s->flags & ~pt->flags) & TL_PROBE_ASKS) || (s->post && !pt->post))
		return false;
	if (s->patch->plan->rung == TL_RUNG_TRAP)
		return !(s->flags & TL_PROBE_NO_TRAP);
	return !tl_site_only_trap(s);
}

static void take_out(struct tl_batch *b, struct tl_patch *p)
{
	tl_index_remove(&tl_patches.planned, &p->node);
	p->pulled = true;
	p->next = b->old;
	b->old = p;
}

/* A neighbour that was moved away goes with the patch it was moved for, and the other way round. */
static int pull(struct tl_batch *b, struct tl_patch *p)
{
	p = tl_patch_first(p);
	for (unsigned i = 0; i < p->plan->npoints; i++) {
		int ret = tl_batch_add(b, p->plan->points[i].site);

		if (ret)
			return ret;
	}
	for (; p; p = p->moved)
		take_out(b, p);
	return 0;
}

static bool borrowed(struct tl_patch *p)
{
	for (p = tl_patch_first(p); p; p = p->moved)
		if (tl_patch_borrowed(p))
			return true;
	return false;
}

/* It stays as it is, which may do for the site. */
static int leave(struct tl_batch *b, struct tl_site *s)
{
	b->left |= !s->want;
	if (!s->want || (s->patch && b->again))
		return 0;
	b->bad = s;
	return -TL_E_RESERVED;
}

/* Sites join while we walk: b->nsites grows. */
static int pull_all(struct tl_batch *b)
{
	b->left = false;
	for (size_t i = 0; i < b->nsites; i++) {
		struct tl_site *s = b->sites[i];
		struct tl_patch *p = s->patch;
		int ret = 0;

		if (!p && s->want)
			p = tl_patch_at(s->addr);
		else if (p && (p->pulled || (!b->again && served(s))))
			p = NULL;
		if (p)
			ret = borrowed(p) ? leave(b, s) : pull(b, p);
		if (ret)
			return ret;
	}
	return 0;
}

static void put_back(struct tl_batch *b)
{
	struct tl_patch *p;

	while (b->fresh)
		tl_batch_unmake(b);
	for (p = b->old; p; p = p->next) {
		p->pulled = false;
		tl_index_insert(&tl_patches.planned, &p->node, p->plan->start);
	}
	b->old = NULL;
	for (size_t i = 0; i < b->nsites; i++)
		b->sites[i]->planned = NULL;
}
/* --- the whole ------------------------------------------------------------------------------ */

static int journal_fresh(struct tl_batch *b)
{
	struct tl_patch *p;
	int ret = tl_journal_reserve(tl_patch_count(b->fresh));

	for (p = b->fresh; p && !ret; p = p->next)
		p->journal =
			tl_journal_put(p->plan->start, p->plan->orig, p->bytes, p->plan->changed);
	return ret;
}

static void unjournal_fresh(struct tl_batch *b)
{
	struct tl_patch *p;

	for (p = b->fresh; p; p = p->next)
		tl_journal_drop(p->journal);
}

/* The text is written: the old patches are history. */
static void settle(struct tl_batch *b)
{
	struct tl_patch *p, *next;

	for (p = b->old; p; p = next) {
		struct tl_patch *now = tl_patch_at(p->plan->start);

		next = p->next;
		if (!b->better)
			tl_optimizer_left(p);
		if (p->plan->rung == TL_RUNG_TRAP && !(now && now->plan->rung == TL_RUNG_TRAP &&
							     now->plan->start == p->plan->start))
			tl_os_trap_remove(p->plan->start);
		tl_patch_leave(p);
	}
	for (p = b->fresh; p; p = next) {
		next = p->next;
		p->next = NULL;
		tl_patch_enter(p);
	}
	b->old = b->fresh = NULL;
}

/* What is not there any more must not be written back. */
static int check_old(struct tl_batch *b)
{
	const struct tl_patch *p;

	for (p = b->old; p; p = p->next)
		if (!tl_patch_stands(p)) {
			b->gone = true;
			return -TL_E_BUSY;
		}
	return 0;
}

static int commit_once(struct tl_batch *b)
{
	int ret = pull_all(b);

	sort_sites(b->sites, b->nsites);
	if (!ret)
		ret = check_old(b);
	if (!ret)
		ret = tl_place_all(b);
	if (ret)
		goto back;
	ret = journal_fresh(b);
	if (ret)
		goto back;
	ret = tl_traps_add(b);
	if (ret)
		goto unjournal;
	tl_race_point(RP_TRAPS_IN);
	ret = tl_traps_lead_in(b);
	if (ret)
		goto untrap;
	ret = tl_patches_write(b);
	if (ret)
		goto unlead;
	settle(b);
	return 0;
unlead:
	tl_traps_lead_back(b);
untrap:
	tl_traps_undo(b, NULL);
unjournal:
	unjournal_fresh(b);
back:
	put_back(b);
	return ret;
}

/* What tl_batch_commit() would do with this batch, site by site. */
void tl_batch_foresee(struct tl_batch *b,
	void (*tell)(void *arg, const struct tl_site *s, const struct tl_plan *plan, int why),
	void *arg)
{
	struct tl_site *s;
	int ret = pull_all(b);

	sort_sites(b->sites, b->nsites);
	tl_core.foreseeing = true;
	for (size_t i = 0; i < b->nsites; i++) {
		s = b->sites[i];
		if (!ret && s->want && !s->planned && (!s->patch || s->patch->pulled) &&
			(ret = tl_place_site(b, i))) {
			tell(arg, s, NULL, ret);
			ret = ret == -TL_E_NOMEM ? ret : 0;
		}
	}
	for (size_t i = 0; i < b->nsites; i++) {
		s = b->sites[i];
		if (s->planned)
			tell(arg, s, s->planned->plan, 0);
	}
	put_back(b);
	tl_core.foreseeing = false;
}

int tl_batch_commit(struct tl_batch *b)
{
	int ret;

	TL_ASSERT_HELD();
	/* Where somebody stands in the way of a window, do without that window; who cannot be stopped, without any. */
	for (unsigned i = 0; i < COMMIT_TRIES; i++) {
		b->blocked = b->gone = false;
		tl_detours_look_again();
		ret = commit_once(b);
		if (b->gone) {
			tl_drop_gone();
			continue;
		}
		if (ret != -TL_E_BUSY || (b->no_windows && !b->blocked))
			break;
		b->no_windows |= b->careful && !b->blocked;
		b->careful |= !b->blocked;
	}
	tl_detour_poll(false);
	return ret;
}
