/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/*
 * Tail calls. A function that is left by a jump returns when the function
 * jumped to does, at the same stack pointer; so the exits of that one are
 * watched as well, and of those it jumps to in its turn: once, for all return
 * probes of a kind. What cannot be known or watched now (not looked up yet by
 * the dynamic loader, computed, refused) is noted when a call leaves that way,
 * and looked at again by tl_retprobe_follow().
 */
#include "../base/arena.h"
#include "../base/broken.h"
#include "../base/core.h"
#include "../base/mem.h"
#include "../detour/detour.h"
#include "../detour/threads.h"
#include "../image/dynsym.h"
#include "../image/func.h"
#include "../image/refuse.h"
#include "../probe/gone.h"
#include "../probe/probe.h"
#include "../text/patch.h"
#include "ret.h"

enum { STUB = 32 };

uint32_t tl_ret_wanting;

/* --- from handlers ---------------------------------------------------------------- */

static bool holds(const struct tl_ret_watch *w, uintptr_t to)
{
	return to - w->part.start < w->part.size;
}

const struct tl_ret_watch *tl_ret_followed(const struct tl_ret_state *st, uintptr_t to)
{
	uint32_t n = TL_LOAD(&st->nfollowed);

	for (uint32_t i = 0; i < n; i++) {
		const struct tl_ret_watch *w = st->followed[i].watch;

		if (holds(w, to) && TL_RELAXED(&w->entry.state) == TL_PROBE_ARMED)
			return w;
	}
	return NULL;
}

static bool is_refused(const struct tl_ret_state *st, uintptr_t to)
{
	uint32_t n = TL_LOAD(&st->nrefused);

	for (uint32_t i = 0; i < n; i++)
		if (st->refused[i].entry == to)
			return true;
	return n == TL_RET_REFUSED || st->nfound == TL_RET_FOLLOWED;
}

void tl_ret_want(struct tl_ret_state *st, uintptr_t to)
{
	if (is_refused(st, to))
		return;
	for (unsigned i = 0; i < TL_RET_WANTED; i++) {
		uintptr_t none = 0, now = TL_RELAXED(&st->wanted[i]);

		if (now == to)
			return;
		if (now || !TL_CAS(&st->wanted[i], &none, to))
			continue;
		TL_STORE(&tl_ret_wanting, 1);
		return;
	}
}

/* --- following -------------------------------------------------------------------- */

static void refuse(struct tl_ret_state *st, uintptr_t to, int why)
{
	if (st->nrefused == TL_RET_REFUSED)
		return;
	st->refused[st->nrefused].entry = to;
	st->refused[st->nrefused].why = why;
	TL_STORE(&st->nrefused, st->nrefused + 1);
}

/* The number that it will be looked up by, -1: it has been. */
static int64_t unbound(uintptr_t to)
{
	uint8_t text[STUB];
	size_t got = tl_os_text_read(to, text, sizeof(text));

	tl_patch_original(to, text, got);
	return tl_arch_stub_unbound(text, got);
}

/* --- what is watched ---------------------------------------------------------------- */

static struct tl_index watches; /* the newest of each place */

static struct tl_ret_watch *watch_of(struct tl_node *n)
{
	return (void *)n;
}

static void insert(struct tl_ret_watch *w)
{
	struct tl_node *n = tl_index_find(&watches, w->part.start);

	w->same = watch_of(n);
	if (n)
		tl_index_remove(&watches, n);
	tl_index_insert(&watches, &w->node, w->part.start);
}

static void remove(struct tl_ret_watch *w)
{
	struct tl_node *n = tl_index_find(&watches, w->part.start);
	struct tl_ret_watch *first = watch_of(n), **link = &first;

	tl_index_remove(&watches, n);
	while (*link != w)
		link = &(*link)->same;
	*link = w->same;
	if (first)
		tl_index_insert(&watches, &first->node, first->part.start);
}

/* The one that holds `to`, for return probes such as this one. */
static struct tl_ret_watch *find(const struct tl_ret_state *st, uintptr_t to)
{
	struct tl_ret_watch *w = watch_of(tl_index_floor(&watches, to));

	for (; w; w = w->same)
		if (holds(w, to) && w->kind == tl_ret_kind(st) && (!w->only || w->only == st) &&
			(w->why || w->entry.state != TL_PROBE_GONE))
			break;
	return w;
}

/* Less the exits by which a part (.cold) jumps back into the function: its calls go on there. */
static struct tl_ret_watch *create(const struct tl_ret_state *st, const struct tl_func_part *part,
	const struct tl_exit *exits, size_t n)
{
	struct tl_ret_watch *w;
	size_t size = sizeof(*w) + n * sizeof(w->exits[0]) + (n + 1) * sizeof(w->list[0]);

	w = tl_arena_get(size);
	if (!w)
		return NULL;
	w->part = *part;
	w->kind = tl_ret_kind(st);
	w->list = (struct tl_probe **)(void *)&w->exits[n];
	tl_ret_fill_probe(&w->entry, w, part->start + tl_os_entry_bytes(part->start),
		tl_ret_watch_entry_hit, w->kind & TL_PROBE_NO_JUMP);
	w->list[0] = &w->entry;
	for (size_t i = 0; i < n; i++) {
		struct tl_ret_exit *e = &w->exits[w->nexits];

		if (tl_ret_inside(st, exits[i].target)) {
			w->only = st;
			continue;
		}
		tl_ret_fill_exit(
			e, w, &exits[i], tl_ret_watch_exit_hit, tl_ret_watch_jump_hit, w->kind);
		w->list[++w->nexits] = &e->probe;
	}
	return w;
}

/* The part that holds `to`, to be watched. */
static int create_for(const struct tl_ret_state *st, uintptr_t to, struct tl_ret_watch **fresh)
{
	const struct tl_image *img;
	struct tl_func_part part;
	const struct tl_exit *exits;
	struct tl_ret_watch *w;
	uintptr_t bad;
	int n = tl_refuse_entry(to, &img);

	if (!n)
		n = tl_func_get(&tl_func_now, to, 0, 0);
	if (n)
		return n;
	part = (struct tl_func_part){tl_func_now.code.start, tl_func_now.code.size};
	n = tl_ret_exits(&part, 1, part.start, &exits, &bad);
	if (n < 0)
		return n;
	w = create(st, &part, exits, (size_t)n);
	if (!w)
		return -TL_E_NOMEM;
	insert(w);
	w->next = *fresh;
	*fresh = w;
	return 0;
}

/* Functions that others call too must not become slow. */
static bool any_by_trap(const struct tl_ret_watch *w)
{
	for (size_t i = 0; i <= w->nexits; i++)
		if (tl_core.optimize && !(w->list[i]->flags & TL_PROBE_NO_JUMP) &&
			tl_ret_by_trap(w->list[i]))
			return true;
	return false;
}

/* Those that are slow are taken away again. */
static void drop_slow(struct tl_group *g, struct tl_group *slow, size_t n)
{
	size_t nslow = 0;

	for (size_t i = 0; i < n; i++)
		if (!g[i].result && any_by_trap(g[i].owner)) {
			slow[nslow++] = g[i];
			g[i].result = -TL_E_TRAP_FORBIDDEN;
		}
	tl_groups_unregister_locked(slow, nslow);
}

static size_t length(const struct tl_ret_watch *list)
{
	size_t n = 0;

	for (; list; list = list->next)
		n++;
	return n;
}

static struct tl_group group_of(struct tl_ret_watch *w)
{
	return (struct tl_group){.list = w->list, .n = w->nexits + 1, .owner = w};
}

/* Puts them in place, or says why not; the latter go to *refused, where whoever asks next finds them. */
static void arm(struct tl_ret_watch *list, struct tl_ret_watch **refused)
{
	size_t n = length(list), bytes = 2 * n * sizeof(struct tl_group), i = 0;
	struct tl_group *g = n ? tl_os_alloc(bytes) : NULL;
	struct tl_ret_watch *w, *next;

	for (w = list; g && w; w = w->next)
		g[i++] = group_of(w);
	tl_groups_register_locked(g, i);
	if (g)
		drop_slow(g, g + n, i);
	for (i = 0, w = list; w; w = next, i++) {
		next = w->next;
		w->next = NULL;
		w->why = g ? g[i].result : -TL_E_NOMEM;
		if (!w->why)
			continue;
		w->next = *refused;
		*refused = w;
	}
	if (g)
		tl_os_free(g, bytes);
}

static void forget(struct tl_ret_watch *list)
{
	struct tl_ret_watch *next;

	for (; list; list = next) {
		next = list->next;
		tl_put_late(list);
	}
}

/* --- who follows what ---------------------------------------------------------------- */

/* Is it followed already, or is there no room for it? */
static bool is_found(const struct tl_ret_state *st, uintptr_t to)
{
	for (uint32_t i = 0; i < st->nfound; i++)
		if (holds(st->followed[i].watch, to) &&
			st->followed[i].watch->entry.state != TL_PROBE_GONE)
			return true;
	return st->nfound == TL_RET_FOLLOWED;
}

static void look_at(struct tl_ret_state *st, uintptr_t to, struct tl_ret_watch **fresh)
{
	struct tl_ret_watch *w;
	int ret;

	if (!to || to == (uintptr_t)st->rp->entry || tl_ret_inside(st, to) || is_refused(st, to) ||
		is_found(st, to) || unbound(to) >= 0)
		return;
	w = find(st, to);
	if (!w) {
		ret = create_for(st, to, fresh);
		if (ret) {
			refuse(st, to, ret);
			return;
		}
		w = *fresh;
	}
	w->users++;
	st->followed[st->nfound++] = (struct tl_ret_followed){w, to};
}

static uintptr_t leads_to(const struct tl_ret_exit *e)
{
	uintptr_t to = e->exit.target, slot = e->exit.slot;

	if (slot && tl_os_text_read(slot, &to, sizeof(to)) != sizeof(to))
		return 0;
	return tl_ret_bound(e, to);
}

/* --- functions that have not been looked up ------------------------------------------ */

struct foretelling {
	struct tl_ret_state *st;
	struct tl_ret_watch **fresh;
	uintptr_t first, watched; /* of those that it may be */
};

static void look_at_likely(void *arg, uintptr_t to)
{
	struct foretelling *f = arg;

	look_at(f->st, to, f->fresh);
}

static void pick(void *arg, uintptr_t to)
{
	struct foretelling *f = arg;

	if (!f->first)
		f->first = to;
	if (!f->watched && tl_ret_followed(f->st, to))
		f->watched = to;
}

/* Those that it may lead to are looked at. */
static void foretell(
	struct tl_ret_state *st, struct tl_ret_exit *e, uintptr_t to, struct tl_ret_watch **fresh)
{
	struct foretelling f = {.st = st, .fresh = fresh};
	int64_t number;

	if (!e->exit.slot || to == e->likely || !to || tl_ret_followed(st, to))
		return;
	number = unbound(to);
	if (number < 0)
		return;
	e->stub = to;
	tl_bind_foretell(to, e->exit.slot, (uint32_t)number, look_at_likely, &f);
}

/* They are watched now, or some of them. */
static void settle_foretold(struct tl_ret_state *st, struct tl_ret_exit *exits, size_t n)
{
	for (size_t i = 0; i < n; i++) {
		struct tl_ret_exit *e = &exits[i];
		struct foretelling f = {.st = st};
		int64_t number = e->stub && !e->unbound ? unbound(e->stub) : -1;

		if (number < 0)
			continue;
		tl_bind_foretell(e->stub, e->exit.slot, (uint32_t)number, pick, &f);
		if (!f.first)
			continue;
		e->likely = f.watched ? f.watched : f.first;
		TL_STORE(&e->unbound, e->stub);
	}
}

static void settle_all_foretold(struct tl_ret_state *st)
{
	settle_foretold(st, st->exits, st->nexits);
	for (uint32_t i = 0; i < st->nfollowed; i++)
		settle_foretold(st, st->followed[i].watch->exits, st->followed[i].watch->nexits);
}

/* --- all of them ----------------------------------------------------------------------- */

static void look_behind(
	struct tl_ret_state *st, struct tl_ret_exit *exits, size_t n, struct tl_ret_watch **fresh)
{
	for (size_t i = 0; i < n; i++) {
		uintptr_t to = leads_to(&exits[i]);

		look_at(st, to, fresh);
		foretell(st, &exits[i], to, fresh);
	}
}

/* Those found last are in place now, or refused. False: there were none. */
static bool settle(struct tl_ret_state *st, struct tl_ret_watch **fresh)
{
	uint32_t from = st->nsettled, kept = from;

	for (uint32_t i = from; i < st->nfound; i++) {
		struct tl_ret_followed *f = &st->followed[i];

		if (f->watch->why) {
			f->watch->users--;
			refuse(st, f->to, f->watch->why);
		} else {
			st->followed[kept++] = *f;
		}
	}
	st->nfound = st->nsettled = kept;
	for (uint32_t i = from; i < kept; i++)
		look_behind(st, st->followed[i].watch->exits, st->followed[i].watch->nexits, fresh);
	return kept > from;
}

static void look_at_wanted(struct tl_ret_state *st, struct tl_ret_watch **fresh)
{
	for (unsigned i = 0; i < TL_RET_WANTED; i++) {
		uintptr_t to = TL_LOAD(&st->wanted[i]);

		look_at(st, to, fresh);
		TL_STORE(&st->wanted[i], 0);
	}
}

static void look_anew(struct tl_ret_state *st, struct tl_ret_watch **fresh)
{
	look_behind(st, st->exits, st->nexits, fresh);
	for (uint32_t i = 0; i < st->nfollowed; i++)
		look_behind(st, st->followed[i].watch->exits, st->followed[i].watch->nexits, fresh);
	look_at_wanted(st, fresh);
}

/*
 * A batch for each level, as deep as a return probe has room. The readers are told
 * at the end: a function jumps to parts of its own (.cold) that return in its
 * place, so no call may wait there before these are watched as well.
 */
void tl_ret_follow_all(struct tl_ret_state *list)
{
	struct tl_ret_watch *fresh = NULL, *batch, *refused = NULL, *w;
	struct tl_ret_state *st;
	bool more = true;

	TL_ASSERT_HELD();
	for (st = list; st; st = st->next)
		look_anew(st, &fresh);
	while (more) {
		batch = fresh;
		fresh = NULL;
		more = false;
		arm(batch, &refused);
		for (st = list; st; st = st->next)
			more |= settle(st, &fresh);
	}
	for (st = list; st; st = st->next) {
		TL_STORE(&st->nfollowed, st->nfound);
		settle_all_foretold(st);
	}
	for (w = refused; w; w = w->next)
		remove(w);
	forget(refused);
}

static uint32_t count_followed(void)
{
	uint32_t n = 0;

	for (const struct tl_ret_state *st = tl_ret_states; st; st = st->next)
		n += st->nfollowed;
	return n;
}

int tl_retprobe_follow(void)
{
	uint32_t before;
	int ret = 0;

	tl_os_lock();
	TL_STORE(&tl_ret_wanting, 0);
	if (tl_core.ready)
		ret = tl_images_refresh();
	before = count_followed();
	if (!ret) {
		tl_ret_follow_all(tl_ret_states);
		ret = (int)(count_followed() - before);
	}
	tl_os_unlock();
	return ret;
}

/* What this one follows; those that nobody follows any more go to the list. */
static void unfollow(struct tl_ret_state *st, struct tl_ret_watch **left)
{
	for (uint32_t i = 0; i < st->nfound; i++) {
		struct tl_ret_watch *w = st->followed[i].watch;

		if (--w->users)
			continue;
		remove(w);
		w->next = *left;
		*left = w;
	}
}

static void disarm(struct tl_ret_watch *list)
{
	size_t n = length(list), bytes = n * sizeof(struct tl_group), i = 0;
	struct tl_group *g = n ? tl_os_alloc(bytes) : NULL;

	for (struct tl_ret_watch *w = list; w; w = w->next)
		if (g)
			g[i++] = group_of(w);
		else
			tl_probes_unregister_locked(w->list, w->nexits + 1);
	tl_groups_unregister_locked(g, i);
	if (g)
		tl_os_free(g, bytes);
}

static bool nobody_inside(void *arg)
{
	uintptr_t lo, hi;

	(void)arg;
	return !tl_chunks_span(&lo, &hi) || !tl_os_quiet(lo, hi);
}

void tl_ret_unfollow_all(struct tl_ret_state *list)
{
	struct tl_ret_watch *left = NULL;
	bool any = false;

	TL_ASSERT_HELD();
	for (struct tl_ret_state *st = list; st; st = st->next) {
		st->leaving = true;
		any |= st->nfound != 0;
		unfollow(st, &left);
	}
	if (!any)
		return;
	/* Others may go on to watch what these followed. */
	tl_ret_waiting_clear();
	tl_threads_grace(nobody_inside, NULL);
	disarm(left);
	forget(left);
}

/* --- telling ---------------------------------------------------------------------- */

static int why_not(const struct tl_ret_state *st, uintptr_t to)
{
	for (uint32_t i = 0; i < st->nrefused; i++)
		if (st->refused[i].entry == to)
			return st->refused[i].why;
	return -TL_E_TAIL_CALL;
}

static void tell(const struct tl_ret_state *st, const struct tl_ret_exit *exits, size_t n,
	struct tl_retprobe_info *info)
{
	for (size_t i = 0; i < n && !info->tail; i++) {
		const struct tl_exit *e = &exits[i].exit;
		uintptr_t to = leads_to(&exits[i]);

		if (e->kind != TL_EXIT_TAIL && e->kind != TL_EXIT_TAIL_COND)
			continue;
		if (to == (uintptr_t)st->rp->entry || tl_ret_inside(st, to) ||
			tl_ret_followed(st, to))
			continue;
		info->tail = e->addr;
		info->tail_to = to;
		info->tail_why = why_not(st, to);
	}
}

void tl_ret_tell_tails(const struct tl_ret_state *st, struct tl_retprobe_info *info)
{
	info->nfollowed = st->nfollowed;
	tell(st, st->exits, st->nexits, info);
	for (uint32_t i = 0; i < st->nfollowed; i++)
		tell(st, st->followed[i].watch->exits, st->followed[i].watch->nexits, info);
}
