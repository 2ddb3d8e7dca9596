/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/*
 * Planning: the cheapest rung for each wanted site of a batch, alone or
 * together with its neighbours, and the detours for what was chosen.
 */
#include "../../os/os.h"
#include "../base/core.h"
#include "../base/mem.h"
#include "../detour/detour.h"
#include "../detour/site.h"
#include "../go/room.h"
#include "../image/func.h"
#include "../image/images.h"
#include "../image/refuse.h"
#include "../image/reserved.h"
#include "../text/patch.h"
#include "batch.h"

enum {
	ALL_RUNGS = (1 << (TL_RUNG_TRAP + 1)) - 2,
	PLACE_TRIES = 8, /* places for a detour that a neighbour's must go with */
};

/* Sites that one patch is to serve. */
struct group {
	const struct tl_batch *b;
	size_t at; /* of b->sites, which are sorted: the first of them, or one near by */
	struct tl_site **sites;
	unsigned n;
	unsigned allowed; /* rungs */
	int trap_why; /* no breakpoint may stand here */
};

static bool is_ours(const struct group *g, const struct tl_site *s)
{
	for (unsigned i = 0; i < g->n; i++)
		if (g->sites[i] == s)
			return true;
	return false;
}

/* Others of the batch whose probes will stand in [lo, hi). */
static bool others_stand_in(const struct group *g, uintptr_t lo, uintptr_t hi)
{
	struct tl_site *const *sites = g->b->sites;
	size_t i = g->at;

	while (i && sites[i - 1]->addr >= lo)
		i--;
	for (; i < g->b->nsites && sites[i]->addr < hi; i++)
		if (sites[i]->addr >= lo && sites[i]->want && !is_ours(g, sites[i]))
			return true;
	return false;
}

/* Bytes that others hold: their patches, the places where their probes will stand, other modifiers' text. */
static bool claimed(void *arg, uintptr_t lo, uintptr_t hi)
{
	const struct tl_patch *p = tl_patch_below(hi);

	return (p && p->plan->start + p->plan->held > lo) || tl_text_claimed(lo, hi) ||
	       others_stand_in(arg, lo, hi);
}

static bool room(void *arg, const struct tl_plan *plan)
{
	(void)arg;
	return tl_detours_retired() || tl_detmem_room(plan); /* they may be revived, or make room */
}

static struct tl_ground ground_of(struct group *g)
{
	return (struct tl_ground){claimed, room, g};
}

/*
 * A new window must not be where somebody in an old detour comes back to.
 * Breakpoints under it can first be led into the new detour (see tl_traps_lead_in);
 * other old patches cannot.
 */
static bool may_cover(const struct tl_batch *b, const struct tl_plan *plan)
{
	uintptr_t end = plan->start + plan->len;
	const struct tl_patch *p;

	if (b->no_windows)
		return false;
	for (unsigned i = 0; i < plan->npoints; i++)
		if (plan->points[i].site->shy)
			return false;
	for (p = tl_patch_written(plan->start - TL_PATCH_MAX); p && p->plan->start < end;
		p = tl_patch_written(p->plan->start + 1)) {
		if (!p->pulled || !tl_plan_inside(plan, p->plan->start + p->plan->len))
			continue;
		if (p->plan->rung != TL_RUNG_TRAP || b->careful)
			return false;
	}
	return !tl_detour_returns_into(plan->start, plan->start + plan->len);
}

/* Rungs whose detours must lie at certain places, where none can be had there. */
static unsigned rungs_out_of_reach(void)
{
	return tl_os_code_at_will() ? 0 : 1u << TL_RUNG_PUN | 1u << TL_RUNG_EVICT;
}

static void allow_rungs(struct group *g)
{
	unsigned allowed = tl_arch_rungs & ALL_RUNGS & ~rungs_out_of_reach();

	g->trap_why = tl_os_trap_allowed();
	if (g->trap_why)
		allowed &= ~(1u << TL_RUNG_TRAP);
	for (unsigned i = 0; i < g->n; i++) {
		if (tl_site_only_trap(g->sites[i]))
			allowed &= 1u << TL_RUNG_TRAP;
		if (g->sites[i]->flags & TL_PROBE_NO_TRAP)
			allowed &= ~(1u << TL_RUNG_TRAP);
	}
	g->allowed = allowed;
}

static void clear_plan(struct tl_plan *plan, const struct group *g)
{
	const struct tl_image *img = tl_image_find(g->sites[0]->addr);

	tl_fill(plan, 0, sizeof(*plan));
	plan->early = img && (img->flags & TL_IMAGE_EARLY);
	plan->no_red_zone =
		img && (img->flags & TL_IMAGE_NO_RED_ZONE || tl_room_is_go(img, g->sites[0]->addr));
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
	if (plan->held < plan->len)
		plan->held = plan->len;
}

static int next_candidate(struct tl_plan *plan, struct group *g, int why)
{
	const struct tl_ground ground = ground_of(g);

	plan->why[plan->rung] = why;
	return tl_arch_plan_next(plan, &tl_func_now.code, g->allowed, &ground);
}

/* Would a breakpoint do, and nothing else? Then that there may be none is what refuses the site. */
static bool wants_trap(const struct tl_plan *plan, struct group *g)
{
	const struct tl_ground ground = ground_of(g);
	struct tl_plan other = *plan;

	return g->trap_why && !tl_arch_plan(&other, &tl_func_now.code, 1u << TL_RUNG_TRAP, &ground);
}

/* The port has answered `ret`: its first candidate that may be used now. */
static int take_answer(const struct tl_batch *b, struct tl_plan *plan, struct group *g, int ret)
{
	while (!ret && plan->rung == TL_RUNG_WINDOW && !may_cover(b, plan))
		ret = next_candidate(plan, g, -TL_E_BUSY);
	for (unsigned rung = 1; rung < TL_RUNG_TRAP; rung++) {
		if (rungs_out_of_reach() & 1u << rung)
			plan->why[rung] = -TL_E_OUT_OF_REACH;
		if (!tl_core.optimize && !(g->allowed & 1u << rung))
			plan->why[rung] = -TL_E_OPT_OFF;
	}
	if (ret) {
		plan->why[TL_RUNG_TRAP] = g->trap_why;
		return wants_trap(plan, g) ? g->trap_why : ret;
	}
	keep_original(plan, &tl_func_now.code);
	return 0;
}

static int ask(const struct tl_batch *b, struct tl_plan *plan, struct group *g)
{
	const struct tl_ground ground = ground_of(g);

	allow_rungs(g);
	clear_plan(plan, g);
	return take_answer(b, plan, g, tl_arch_plan(plan, &tl_func_now.code, g->allowed, &ground));
}

/* After one that could not be carried out. */
static int ask_next(const struct tl_batch *b, struct tl_plan *plan, struct group *g, int why)
{
	return take_answer(b, plan, g, next_candidate(plan, g, why));
}

uintptr_t tl_site_insn_end(const struct tl_site *s)
{
	const struct tl_code *code = &tl_func_now.code;
	size_t off = s->addr - code->start;

	if (!tl_func_now.valid || off >= code->size)
		return s->addr + 1;
	while (++off < code->size && !(code->boundary[off / 8] >> off % 8 & 1))
		;
	return code->start + off;
}

int tl_site_check(struct tl_site *s)
{
	const struct tl_image *img;
	int ret = tl_refuse_addr(s->addr, &img);

	if (!ret)
		ret = tl_func_get(&tl_func_now, s->addr, s->func_start, s->func_size);
	if (!ret)
		ret = tl_arch_can_probe(&tl_func_now.code, s->addr);
	if (!ret)
		ret = tl_room_check(img, &tl_func_now.code, s->addr);
	return ret ? ret : tl_text_claimed(s->addr, tl_site_insn_end(s));
}

static void lead_to_detour(struct tl_patch *p)
{
	p->plan = &p->detour->plan;
	if (p->plan->rung == TL_RUNG_TRAP)
		tl_arch_trap_insn(p->bytes);
	else
		tl_arch_patch_bytes(p->plan, p->detour->at, p->bytes);
}

static bool all_fit(struct tl_plan *plan);

/* With its detour there, have all that it moves a place? */
static bool moved_fit(const struct tl_plan *plan, uintptr_t at)
{
	struct tl_plan moved;

	return !plan->moved ||
	       (!tl_arch_plan_moved(plan, at, &tl_func_now.code, &moved) && all_fit(&moved));
}

/* Is there a place for its detour with which all of those that it moves have one, too? Then from there on. */
static bool all_fit(struct tl_plan *plan)
{
	size_t bound = plan->bound ? plan->bound : tl_arch_detour_bound(plan);
	const struct tl_detour *d = tl_detour_retired(plan);
	int err;

	if (d)
		return moved_fit(plan, d->at);
	if (!bound || bound > TL_DETOUR_MAX)
		return false;
	for (unsigned n = 0; n < PLACE_TRIES; n++) {
		uintptr_t at = tl_detmem_look(plan, bound, &err);

		if (!at)
			return false;
		plan->reach_lo = at;
		if (moved_fit(plan, at))
			return true;
		plan->reach_lo = at + bound;
	}
	return false;
}

/* Nothing is written for one whose neighbours cannot go with it. */
static int create(const struct tl_plan *plan, struct tl_detour **out)
{
	struct tl_plan where;

	if (!plan->moved)
		return tl_detour_create(plan, out);
	tl_copy(&where, plan, sizeof(where));
	return all_fit(&where) ? tl_detour_create(&where, out) : -TL_E_OUT_OF_REACH;
}

/* A fresh patch, first in the batch's list. */
static int make(struct tl_batch *b, const struct tl_plan *plan, struct tl_patch **out)
{
	struct tl_patch *p = tl_slab_get(&tl_patches.slab);
	int ret = 0;

	if (!p)
		return -TL_E_NOMEM;
	p->image = tl_image_generation(plan->start);
	p->detour = tl_detour_revive(plan);
	p->revived = p->detour != NULL;
	if (!p->detour)
		ret = create(plan, &p->detour);
	if (ret) {
		tl_slab_put(&tl_patches.slab, p);
		return ret;
	}
	lead_to_detour(p);
	tl_index_insert(&tl_patches.planned, &p->node, plan->start);
	p->next = b->fresh;
	b->fresh = p;
	*out = p;
	return 0;
}

/* It was never written; somebody may be in its detour all the same. */
static void discard(struct tl_patch *p)
{
	if (p->revived || p->entered)
		tl_detour_retire(p->detour);
	else
		tl_detour_cancel(p->detour);
	tl_slab_put(&tl_patches.slab, p);
}

void tl_batch_unmake(struct tl_batch *b)
{
	struct tl_patch *p = b->fresh;

	b->fresh = p->next;
	tl_index_remove(&tl_patches.planned, &p->node);
	discard(p);
}

/* The neighbour's detour goes with the place of ours. */
static int move_neighbour(struct tl_batch *b, struct tl_patch *p)
{
	struct tl_plan plan;
	int ret;

	if (!p->plan->moved)
		return 0;
	ret = tl_arch_plan_moved(p->plan, p->detour->at, &tl_func_now.code, &plan);
	if (!ret)
		ret = make(b, &plan, &p->moved);
	if (ret)
		return ret;
	p->moved->mover = p;
	ret = move_neighbour(b, p->moved);
	if (ret) {
		tl_batch_unmake(b);
		p->moved = NULL;
	}
	return ret;
}

static int accept(struct tl_batch *b, const struct tl_plan *plan)
{
	struct tl_patch *p;
	int ret = make(b, plan, &p);

	if (ret)
		return ret;
	ret = move_neighbour(b, p);
	if (ret) {
		tl_batch_unmake(b);
		return ret;
	}
	for (unsigned i = 0; i < plan->npoints; i++)
		plan->points[i].site->planned = p;
	return 0;
}

/* Can one window serve this site and those right behind it? */
static bool join_next(struct tl_batch *b, size_t i, struct tl_plan *plan)
{
	struct tl_site *members[TL_POINTS_MAX];
	struct group g = {.b = b, .at = i, .sites = members};
	uintptr_t first = b->sites[i]->addr;
	const struct tl_code *code = &tl_func_now.code;

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

/* Its sites have found a better one. */
static void drop_fresh(struct tl_batch *b, struct tl_patch *p)
{
	struct tl_patch **link = &b->fresh;

	while (*link != p)
		link = &(*link)->next;
	*link = p->next;
	discard(p);
}

/* Sites of a patch right in front of s that is not in the text yet, and s. 0: there is none. */
static unsigned with_those_before(
	struct tl_site *s, struct tl_site **members, struct tl_patch **before)
{
	struct tl_patch *p = tl_patch_below(s->addr);
	unsigned n = 0;

	if (!p || p->moved || p->mover || s->addr - p->plan->start >= TL_PATCH_MAX ||
		p->plan->start < tl_func_now.code.start || p->plan->npoints == TL_POINTS_MAX)
		return 0;
	for (; n < p->plan->npoints; n++) {
		members[n] = p->plan->points[n].site;
		if (members[n]->planned != p || members[n]->patch == p)
			return 0;
	}
	members[n++] = s;
	*before = p;
	return n;
}

/* A return in the few bytes behind an entry, which has its patch already: one window for both. */
static bool join_before(struct tl_batch *b, size_t i)
{
	struct tl_site *members[TL_POINTS_MAX];
	struct tl_patch *before = NULL;
	struct group g = {.b = b,
		.at = i,
		.sites = members,
		.n = with_those_before(b->sites[i], members, &before)};
	struct tl_plan plan;

	if (!g.n)
		return false;
	tl_index_remove(&tl_patches.planned, &before->node);
	if (!ask(b, &plan, &g) && plan.rung == TL_RUNG_WINDOW && !accept(b, &plan)) {
		drop_fresh(b, before);
		return true;
	}
	tl_index_insert(&tl_patches.planned, &before->node, before->plan->start);
	return false;
}

static bool no_room(int err)
{
	return err == -TL_E_OUT_OF_REACH || err == -TL_E_LIMIT;
}

int tl_place_site(struct tl_batch *b, size_t i)
{
	struct tl_site *s = b->sites[i];
	struct group g = {.b = b, .at = i, .sites = &s, .n = 1};
	struct tl_plan plan, joint;
	int ret = tl_site_check(s), err = 0;

	if (ret)
		return ret;
	ret = ask(b, &plan, &g);
	if (ret || plan.rung == TL_RUNG_TRAP || plan.why[TL_RUNG_WINDOW] == -TL_E_NEIGHBOUR) {
		if (join_before(b, i))
			return 0;
		err = plan.why[TL_RUNG_WINDOW] == -TL_E_NEIGHBOUR && join_next(b, i, &joint)
			      ? accept(b, &joint)
			      : -TL_E_OUT_OF_REACH;
		if (!no_room(err))
			return err;
		err = 0;
	}
	while (!ret) {
		if (plan.rung == TL_RUNG_TRAP && join_before(b, i))
			return 0;
		err = accept(b, &plan);
		if (!no_room(err))
			return err;
		ret = ask_next(b, &plan, &g, err);
	}
	return err ? err : ret;
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

int tl_place_all(struct tl_batch *b)
{
	tl_func_forget(&tl_func_now);
	for (size_t i = 0; i < b->nsites; i++) {
		struct tl_site *s = b->sites[i];
		int ret = 0;

		if (s->want && !s->planned && (!s->patch || s->patch->pulled))
			ret = tl_place_site(b, i);
		else if (!s->want && b->check)
			ret = tl_site_check(s);
		if (ret)
			return worst(b, s, ret);
	}
	return 0;
}
