/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/*
 * From wanted sites to changed text: a batch takes out the patches that no
 * longer fit, plans new ones, builds their detours, and writes all text at
 * once. Until the text is written everything can be taken back.
 */
#include "internal.h"

enum {
	ALL_RUNGS = (1 << (TL_RUNG_TRAP + 1)) - 2,
	QUIET_TRIES = 100,
	QUIET_PAUSE_US = 200,
	COMMIT_TRIES = 6,
};

#define PATCH(n) ((struct tl_patch *)(void *)((uint8_t *)(n)-offsetof(struct tl_patch, node)))

/* --- looking up --------------------------------------------------------- */

/* The patch with the highest start below `end`; patches do not overlap. */
static struct tl_patch *patch_below(uintptr_t end)
{
	struct tl_node *n = tl_index_floor(&tl_core.patches, end - 1);

	return n ? PATCH(n) : NULL;
}

struct tl_patch *tl_patch_at(uintptr_t addr)
{
	struct tl_patch *p = patch_below(addr + 1);

	return p && addr - p->plan.start < p->plan.len ? p : NULL;
}

static void overlay(const struct tl_patch *p, uintptr_t addr, uint8_t *buf, size_t len)
{
	for (size_t i = 0; i < p->plan.changed; i++) {
		uintptr_t at = p->plan.start + i;

		if (at >= addr && at - addr < len)
			buf[at - addr] = p->plan.orig[i];
	}
}

/* What stands in the text, also what a running batch has taken out already. */
void tl_patch_original(uintptr_t addr, uint8_t *buf, size_t len)
{
	uintptr_t from = addr > TL_PATCH_MAX ? addr - TL_PATCH_MAX : 0;
	struct tl_node *n = tl_index_ceil(&tl_core.written, from);

	for (; n && n->key < addr + len; n = tl_index_ceil(&tl_core.written, n->key + 1))
		overlay((struct tl_patch *)(void *)((uint8_t *)n - offsetof(struct tl_patch, text)),
			addr, buf, len);
}

/* --- the batch's sites ------------------------------------------------------ */

int tl_batch_init(struct tl_batch *b, size_t expect)
{
	tl_fill(b, 0, sizeof(*b));
	b->max = expect < 64 ? 64 : expect + expect / 4;
	b->sites = tl_os_alloc(b->max * sizeof(b->sites[0]));
	return b->sites ? 0 : -TL_E_NOMEM;
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
		tl_os_free(b->sites, b->max * sizeof(*grown));
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
	if (b->sites)
		tl_os_free(b->sites, b->max * sizeof(b->sites[0]));
	b->sites = NULL;
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

static void sort_sites(struct tl_site **a, size_t n)
{
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

static const struct tl_point *point_of(const struct tl_site *s)
{
	const struct tl_plan *plan = &s->patch->plan;

	for (unsigned i = 0; i < plan->npoints; i++)
		if (plan->points[i].site == s)
			return &plan->points[i];
	tl_broken("a patch does not know its site");
	return &plan->points[0];
}

static bool only_trap(const struct tl_site *s)
{
	return (s->flags & TL_PROBE_NO_JUMP) ||
	       (!tl_core.optimize && !(s->flags & TL_PROBE_NO_TRAP));
}

static bool served(const struct tl_site *s)
{
	const struct tl_point *pt;

	if (!s->want || !s->patch)
		return !s->want && !s->patch;
	pt = point_of(s);
	if (((s->flags & ~pt->flags) & (TL_PROBE_REGS | TL_PROBE_BIG_STACK)) ||
		(s->post && !pt->post))
		return false;
	if (s->patch->plan.rung == TL_RUNG_TRAP)
		return !(s->flags & TL_PROBE_NO_TRAP);
	return !only_trap(s);
}

static int pull(struct tl_batch *b, struct tl_patch *p)
{
	for (unsigned i = 0; i < p->plan.npoints; i++) {
		int ret = tl_batch_add(b, p->plan.points[i].site);

		if (ret)
			return ret;
	}
	tl_index_remove(&tl_core.patches, &p->node);
	p->pulled = true;
	p->next = b->old;
	b->old = p;
	return 0;
}

/* Sites join while we walk: b->nsites grows. */
static int pull_all(struct tl_batch *b)
{
	for (size_t i = 0; i < b->nsites; i++) {
		struct tl_site *s = b->sites[i];
		struct tl_patch *p = s->patch;
		int ret = 0;

		if (p && !p->pulled && (b->again || !served(s)))
			ret = pull(b, p);
		if (!ret && s->want && !p && (p = tl_patch_at(s->addr)))
			ret = pull(b, p);
		if (ret)
			return ret;
	}
	return 0;
}

static void put_back(struct tl_batch *b)
{
	struct tl_patch *p, *next;

	for (p = b->fresh; p; p = next) {
		next = p->next;
		tl_index_remove(&tl_core.patches, &p->node);
		if (p->revived || p->entered)
			tl_detour_retire(p->detour);
		else
			tl_detour_cancel(p->detour);
		tl_slab_put(&tl_core.patch_slab, p);
	}
	b->fresh = NULL;
	for (p = b->old; p; p = p->next) {
		p->pulled = false;
		tl_index_insert(&tl_core.patches, &p->node, p->plan.start);
	}
	b->old = NULL;
	for (size_t i = 0; i < b->nsites; i++)
		b->sites[i]->planned = NULL;
}

/* --- planning ------------------------------------------------------------------------ */

struct group {
	struct tl_site **sites;
	unsigned n;
};

/* Bytes that others hold: their patches, and the places where their probes will stand. */
static bool claimed(void *arg, uintptr_t lo, uintptr_t hi)
{
	const struct group *g = arg;
	const struct tl_patch *p = patch_below(hi);
	struct tl_site *s;

	if (p && p->plan.start + p->plan.len > lo)
		return true;
	for (s = tl_site_next(lo); s && s->addr < hi; s = tl_site_next(s->addr + 1)) {
		bool ours = false;

		for (unsigned i = 0; i < g->n; i++)
			ours |= g->sites[i] == s;
		if (!ours && s->want && s->queued)
			return true;
	}
	return false;
}

static bool is_between(uintptr_t at, const struct tl_plan *plan)
{
	return at > plan->start && at < plan->start + plan->len;
}

/*
 * A new window must not be where somebody in an old detour comes back to.
 * Breakpoints under it can first be led into the new detour (see lead_in);
 * other old patches cannot.
 */
static bool may_cover(const struct tl_batch *b, const struct tl_plan *plan)
{
	const struct tl_patch *p;

	for (unsigned i = 0; i < plan->npoints; i++)
		if (plan->points[i].site->shy)
			return false;
	for (p = b->old; p; p = p->next) {
		if (!is_between(p->plan.start + p->plan.len, plan))
			continue;
		if (p->plan.rung != TL_RUNG_TRAP || b->careful)
			return false;
	}
	return !tl_detour_returns_into(plan->start, plan->start + plan->len);
}

static unsigned allowed_rungs(const struct group *g, int *trap_why)
{
	unsigned allowed = tl_arch_rungs & ALL_RUNGS;

	*trap_why = tl_os_trap_allowed();
	if (*trap_why)
		allowed &= ~(1u << TL_RUNG_TRAP);
	for (unsigned i = 0; i < g->n; i++) {
		if (only_trap(g->sites[i]))
			allowed &= 1u << TL_RUNG_TRAP;
		if (g->sites[i]->flags & TL_PROBE_NO_TRAP)
			allowed &= ~(1u << TL_RUNG_TRAP);
	}
	return allowed;
}

static void clear_plan(struct tl_plan *plan, const struct group *g, bool early)
{
	tl_fill(plan, 0, sizeof(*plan));
	plan->early = early;
	plan->npoints = (uint8_t)g->n;
	for (unsigned i = 0; i < g->n; i++) {
		struct tl_point *pt = &plan->points[i];

		pt->site = g->sites[i];
		pt->addr = pt->site->addr;
		pt->flags = pt->site->flags;
		pt->post = pt->site->post;
	}
}

static void keep_original(struct tl_plan *plan, const struct tl_code *code)
{
	for (unsigned i = 0; i < plan->len; i++)
		plan->orig[i] = code->text[plan->start + i - code->start];
}

static int ask(const struct tl_batch *b, struct tl_plan *plan, struct group *g)
{
	const struct tl_code *code = &tl_core.func.code;
	const struct tl_image *img = tl_image_find(g->sites[0]->addr);
	int trap_why, ret;
	unsigned allowed = allowed_rungs(g, &trap_why), rung;
	bool early = img && (img->flags & TL_IMAGE_EARLY);

	clear_plan(plan, g, early);
	ret = tl_arch_plan(plan, code, allowed, claimed, g);
	if (!ret && plan->rung == TL_RUNG_WINDOW && !may_cover(b, plan)) {
		clear_plan(plan, g, early);
		ret = tl_arch_plan(plan, code, allowed & ~(1u << TL_RUNG_WINDOW), claimed, g);
		plan->why[TL_RUNG_WINDOW] = -TL_E_BUSY;
	}
	for (rung = 1; rung < TL_RUNG_TRAP; rung++)
		if (!tl_core.optimize && !(allowed & 1u << rung))
			plan->why[rung] = -TL_E_OPT_OFF;
	if (ret) {
		plan->why[TL_RUNG_TRAP] = trap_why;
		return trap_why && only_trap(g->sites[0]) ? trap_why : ret;
	}
	keep_original(plan, code);
	return 0;
}

int tl_site_check(struct tl_site *s)
{
	const struct tl_image *img;
	int ret = tl_refuse_addr(s->addr, &img);

	if (!ret)
		ret = tl_func_get(&tl_core.func, s->addr, s->func_start, s->func_size);
	return ret ? ret : tl_arch_can_probe(&tl_core.func.code, s->addr);
}

static int accept(struct tl_batch *b, const struct tl_plan *plan)
{
	struct tl_patch *p = tl_slab_get(&tl_core.patch_slab);
	int ret = 0;

	if (!p)
		return -TL_E_NOMEM;
	p->plan = *plan;
	p->image = tl_image_generation(plan->start);
	p->detour = tl_detour_revive(plan);
	p->revived = p->detour != NULL;
	if (!p->detour)
		ret = tl_detour_create(plan, &p->detour);
	if (ret) {
		tl_slab_put(&tl_core.patch_slab, p);
		return ret;
	}
	if (plan->rung == TL_RUNG_TRAP)
		tl_arch_trap_insn(p->bytes);
	else
		tl_arch_patch_bytes(plan, p->detour->at, p->bytes);
	tl_index_insert(&tl_core.patches, &p->node, plan->start);
	p->next = b->fresh;
	b->fresh = p;
	for (unsigned i = 0; i < plan->npoints; i++)
		plan->points[i].site->planned = p;
	return 0;
}

/* Can one window serve this site and those right behind it? */
static bool join_next(struct tl_batch *b, size_t i, struct tl_plan *plan)
{
	struct tl_site *members[TL_POINTS_MAX];
	struct group g = {members, 0};
	uintptr_t first = b->sites[i]->addr;
	const struct tl_code *code = &tl_core.func.code;

	for (; i < b->nsites && g.n < TL_POINTS_MAX; i++) {
		struct tl_site *s = b->sites[i];

		if (!s->want || s->planned)
			continue;
		if (s->addr - first >= TL_PATCH_MAX || s->addr - code->start >= code->size)
			break;
		if (tl_arch_can_probe(code, s->addr))
			continue; /* refused when its turn comes */
		members[g.n++] = s;
		if (g.n > 1 && !ask(b, plan, &g) && plan->rung == TL_RUNG_WINDOW)
			return true;
	}
	return false;
}

static int plan_site(struct tl_batch *b, size_t i)
{
	struct tl_site *s = b->sites[i];
	struct group g = {&s, 1};
	struct tl_plan plan, joint;
	int ret = tl_site_check(s), err;

	if (ret)
		return ret;
	ret = ask(b, &plan, &g);
	if ((ret || plan.rung == TL_RUNG_TRAP) && plan.why[TL_RUNG_WINDOW] == -TL_E_NEIGHBOUR &&
		join_next(b, i, &joint)) {
		plan = joint;
		ret = 0;
	}
	if (ret)
		return ret;
	err = accept(b, &plan);
	if (err != -TL_E_OUT_OF_REACH || plan.rung == TL_RUNG_TRAP || (s->flags & TL_PROBE_NO_TRAP))
		return err;
	/* No room for a detour near by: the trap's may lie farther away. */
	clear_plan(&joint, &g, plan.early);
	if (!(allowed_rungs(&g, &ret) & 1u << TL_RUNG_TRAP) ||
		tl_arch_plan(&joint, &tl_core.func.code, 1u << TL_RUNG_TRAP, claimed, &g))
		return err;
	joint.why[plan.rung] = err;
	keep_original(&joint, &tl_core.func.code);
	return accept(b, &joint);
}

/* A place that may not be probed at all is a better reason than the trouble it makes for its neighbours. */
static int worst(struct tl_batch *b, struct tl_site *bad, int why)
{
	for (size_t i = 0; i < b->nsites; i++) {
		struct tl_site *s = b->sites[i];
		int ret = s->want && !s->planned ? tl_site_check(s) : 0;

		if (ret) {
			b->bad = s;
			return ret;
		}
	}
	b->bad = bad;
	return why;
}

static int plan_all(struct tl_batch *b)
{
	tl_func_forget(&tl_core.func);
	for (size_t i = 0; i < b->nsites; i++) {
		struct tl_site *s = b->sites[i];
		int ret;

		if (!s->want || s->planned || (s->patch && !s->patch->pulled))
			continue;
		ret = plan_site(b, i);
		if (ret)
			return worst(b, s, ret);
	}
	return 0;
}

/* --- breakpoints ------------------------------------------------------------------------ */

static struct tl_patch *old_trap_at(const struct tl_batch *b, uintptr_t addr)
{
	struct tl_patch *p;

	for (p = b->old; p; p = p->next)
		if (p->plan.rung == TL_RUNG_TRAP && p->plan.start == addr)
			return p;
	return NULL;
}

/* Takes back what add_traps() did for the fresh patches in front of `end`. */
static void undo_traps(struct tl_batch *b, const struct tl_patch *end)
{
	struct tl_patch *p, *old;

	for (p = b->fresh; p != end; p = p->next) {
		if (p->plan.rung != TL_RUNG_TRAP)
			continue;
		old = old_trap_at(b, p->plan.start);
		if (old)
			tl_os_trap_add(
				p->plan.start, old->detour->at); /* is in the table: cannot fail */
		else
			tl_os_trap_remove(p->plan.start);
	}
}

static int add_traps(struct tl_batch *b)
{
	struct tl_patch *p;
	int ret;

	for (p = b->fresh; p; p = p->next) {
		if (p->plan.rung != TL_RUNG_TRAP)
			continue;
		ret = tl_os_trap_add(p->plan.start, p->detour->at);
		if (ret) {
			undo_traps(b, p);
			return ret;
		}
	}
	return 0;
}

/* The fresh window over a breakpoint that goes, whose old detour would come back inside it. */
static struct tl_patch *window_over(const struct tl_patch *old)
{
	struct tl_patch *p;

	if (old->plan.rung != TL_RUNG_TRAP)
		return NULL;
	p = tl_patch_at(old->plan.start);
	return p && p->plan.rung == TL_RUNG_WINDOW &&
			       is_between(old->plan.start + old->plan.len, &p->plan)
		       ? p
		       : NULL;
}

static void lead_back(struct tl_batch *b)
{
	struct tl_patch *p, *w;

	for (p = b->old; p; p = p->next)
		if ((w = window_over(p))) {
			tl_os_trap_add(p->plan.start, p->detour->at);
			w->entered = true;
		}
}

static bool wait_quiet(const struct tl_detour *d)
{
	for (unsigned i = 0; i < QUIET_TRIES; i++) {
		if (tl_os_quiet(d->at, d->at + d->size) == 0)
			return true;
		tl_os_pause(QUIET_PAUSE_US);
	}
	return false;
}

/*
 * Breakpoints that a window will swallow lead into its detour from now on, so
 * that nobody comes back between them any more; then their old detours empty.
 */
static int lead_in(struct tl_batch *b)
{
	struct tl_patch *p, *w;

	for (p = b->old; p; p = p->next) {
		uintptr_t in;

		if (!(w = window_over(p)))
			continue;
		in = tl_arch_ip_to_detour(&w->plan, &tl_core.env, w->detour->at, p->plan.start);
		if (!in)
			goto back;
		tl_os_trap_add(p->plan.start, in);
		w->entered = true;
	}
	for (p = b->old; p; p = p->next)
		if (window_over(p) && !wait_quiet(p->detour))
			goto back;
	return 0;
back:
	lead_back(b);
	return -TL_E_BUSY;
}

/* --- the text ----------------------------------------------------------------------------- */

/* Adds patch bytes (or, with NULL, original ones) to a change that covers them. */
static void draw(struct tl_change *c, uint8_t *side, const struct tl_patch *p, const uint8_t *bytes)
{
	tl_copy(side + (p->plan.start - c->addr), bytes, p->plan.changed);
}

static bool same_window(const struct tl_patch *a, const struct tl_patch *b)
{
	return a && b && a->plan.rung == TL_RUNG_WINDOW && b->plan.rung == TL_RUNG_WINDOW &&
	       a->plan.start == b->plan.start && a->plan.len == b->plan.len;
}

static void sort_patches(struct tl_patch **a, size_t n)
{
	for (size_t gap = n / 2; gap; gap /= 2)
		for (size_t i = gap; i < n; i++)
			for (size_t j = i; j >= gap && a[j - gap]->plan.start > a[j]->plan.start;
				j -= gap) {
				struct tl_patch *t = a[j];

				a[j] = a[j - gap];
				a[j - gap] = t;
			}
}

static size_t count(const struct tl_patch *p)
{
	size_t n = 0;

	for (; p; p = p->next)
		n++;
	return n;
}

/* One change for patches a[0..n) whose bytes touch. Returns false when nothing changes. */
static bool make_change(struct tl_change *c, struct tl_patch **a, size_t n, size_t len)
{
	struct tl_patch *old = NULL, *fresh = NULL;
	unsigned nfresh = 0;

	tl_fill(c, 0, sizeof(*c));
	c->addr = a[0]->plan.start;
	c->len = (uint8_t)len;
	for (size_t i = 0; i < n; i++) {
		draw(c, c->from, a[i], a[i]->plan.orig);
		draw(c, c->to, a[i], a[i]->plan.orig);
	}
	for (size_t i = 0; i < n; i++) {
		if (a[i]->pulled) {
			draw(c, c->from, a[i], a[i]->bytes);
			old = a[i];
		} else {
			draw(c, c->to, a[i], a[i]->bytes);
			fresh = a[i];
			nfresh++;
		}
	}
	c->patch = fresh ? fresh : old;
	c->trapped = old && old->plan.rung == TL_RUNG_TRAP;
	c->window = nfresh == 1 && fresh->plan.rung == TL_RUNG_WINDOW && !same_window(old, fresh);
	c->one_insn = !c->window;
	return !tl_equal(c->from, c->to, len);
}

/* Old and fresh patches, merged where their bytes touch. */
static int make_changes(struct tl_patch **a, size_t n, struct tl_change *c, size_t *nchanges)
{
	size_t i, j;

	*nchanges = 0;
	for (i = 0; i < n; i = j) {
		uintptr_t lo = a[i]->plan.start, hi = lo + a[i]->plan.changed;

		for (j = i + 1; j < n && a[j]->plan.start < hi; j++)
			if (a[j]->plan.start + a[j]->plan.changed > hi)
				hi = a[j]->plan.start + a[j]->plan.changed;
		if (hi - lo > sizeof(c->from))
			return -TL_E_LIMIT;
		if (make_change(&c[*nchanges], a + i, j - i, hi - lo))
			++*nchanges;
	}
	return 0;
}

/* Its sites do without a window in the next try. */
static void make_shy(struct tl_batch *b, const struct tl_patch *p)
{
	for (unsigned i = 0; i < p->plan.npoints; i++)
		p->plan.points[i].site->shy = true;
	b->blocked = true;
}

static int write_text(struct tl_batch *b)
{
	size_t n = count(b->old) + count(b->fresh), nchanges, i = 0;
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
	for (p = b->old; p; p = p->next)
		all[i++] = p;
	for (p = b->fresh; p; p = p->next)
		all[i++] = p;
	sort_patches(all, n);
	ret = make_changes(all, n, c, &nchanges);
	if (!ret)
		ret = tl_text_apply(c, nchanges);
	for (i = 0; ret && i < nchanges; i++)
		if (c[i].blocked)
			make_shy(b, c[i].patch);
	tl_os_free(c, size);
	return ret;
}

/* --- the whole ------------------------------------------------------------------------------ */

static int journal_fresh(struct tl_batch *b)
{
	struct tl_patch *p;
	int ret = tl_journal_reserve(count(b->fresh));

	for (p = b->fresh; p && !ret; p = p->next)
		p->journal = tl_journal_put(p->plan.start, p->plan.orig, p->plan.changed);
	return ret;
}

static void unjournal_fresh(struct tl_batch *b)
{
	struct tl_patch *p;

	for (p = b->fresh; p; p = p->next)
		tl_journal_drop(p->journal);
}

/* Sites near a patch that goes, which stand on a breakpoint only because of it. */
static void note_neighbours(struct tl_batch *b, const struct tl_patch *p)
{
	uintptr_t hi = p->plan.start + p->plan.len + TL_PATCH_MAX;
	struct tl_site *s = tl_site_next(p->plan.start - TL_PATCH_MAX);

	for (; s && s->addr < hi; s = tl_site_next(s->addr + 1)) {
		const struct tl_plan *plan = s->patch ? &s->patch->plan : NULL;

		if (s->queued || !plan || plan->rung != TL_RUNG_TRAP || s->noted ||
			plan->why[TL_RUNG_WINDOW] != -TL_E_NEIGHBOUR)
			continue;
		s->noted = true;
		s->follow = b->follow;
		b->follow = s;
	}
}

/* The text is written: the old patches are history. */
static void settle(struct tl_batch *b)
{
	struct tl_patch *p, *next;

	for (p = b->old; p; p = next) {
		struct tl_patch *now = tl_patch_at(p->plan.start);

		next = p->next;
		note_neighbours(b, p);
		if (p->plan.rung == TL_RUNG_TRAP && !(now && now->plan.rung == TL_RUNG_TRAP &&
							    now->plan.start == p->plan.start))
			tl_os_trap_remove(p->plan.start);
		for (unsigned i = 0; i < p->plan.npoints; i++)
			p->plan.points[i].site->patch = NULL;
		tl_index_remove(&tl_core.written, &p->text);
		tl_journal_drop(p->journal);
		tl_detour_retire(p->detour);
		tl_slab_put(&tl_core.patch_slab, p);
	}
	for (p = b->fresh; p; p = next) {
		next = p->next;
		p->next = NULL;
		tl_index_insert(&tl_core.written, &p->text, p->plan.start);
		for (unsigned i = 0; i < p->plan.npoints; i++)
			p->plan.points[i].site->patch = p;
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
		ret = plan_all(b);
	if (ret)
		goto back;
	ret = journal_fresh(b);
	if (ret)
		goto back;
	ret = add_traps(b);
	if (ret)
		goto unjournal;
	tl_race_point(RP_TRAPS_IN);
	ret = lead_in(b);
	if (ret)
		goto untrap;
	ret = write_text(b);
	if (ret)
		goto unlead;
	settle(b);
	return 0;
unlead:
	lead_back(b);
untrap:
	undo_traps(b, NULL);
unjournal:
	unjournal_fresh(b);
back:
	put_back(b);
	return ret;
}

/* Those that a leaving neighbour set free; where it does not work out they stay as they are. */
static void follow_up(struct tl_batch *b)
{
	struct tl_batch next;
	struct tl_site *s;
	bool go = b->follow && tl_core.optimize && tl_batch_init(&next, 0) == 0;

	while ((s = b->follow)) {
		b->follow = s->follow;
		s->noted = false;
		if (go)
			tl_batch_add(&next, s);
	}
	if (!go)
		return;
	next.again = true;
	commit_once(&next);
	tl_batch_deinit(&next);
}

/* What tl_batch_commit() would do with this batch, site by site. */
void tl_batch_foresee(struct tl_batch *b,
	void (*tell)(void *arg, const struct tl_site *s, const struct tl_plan *plan, int why),
	void *arg)
{
	struct tl_site *s;
	int ret = pull_all(b);

	sort_sites(b->sites, b->nsites);
	for (size_t i = 0; i < b->nsites; i++) {
		s = b->sites[i];
		if (!ret && s->want && !s->planned && (!s->patch || s->patch->pulled) &&
			(ret = plan_site(b, i))) {
			tell(arg, s, NULL, ret);
			ret = ret == -TL_E_NOMEM ? ret : 0;
		}
	}
	for (size_t i = 0; i < b->nsites; i++) {
		s = b->sites[i];
		if (s->planned)
			tell(arg, s, &s->planned->plan, 0);
	}
	put_back(b);
}

int tl_batch_commit(struct tl_batch *b)
{
	int ret;

	TL_ASSERT_HELD();
	/* Where somebody stands in the way of a window, do without that window. */
	for (unsigned i = 0; i < COMMIT_TRIES; i++) {
		b->blocked = b->gone = false;
		ret = commit_once(b);
		if (b->gone) {
			tl_drop_gone();
			continue;
		}
		if (ret != -TL_E_BUSY || (b->careful && !b->blocked))
			break;
		b->careful |= !b->blocked;
	}
	follow_up(b);
	tl_detour_poll(false);
	return ret;
}
