/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/*
 * Tail calls. A function that is left by a jump returns when the function
 * jumped to does, at the same stack pointer; so the exits of that one are
 * probed as well, and of those it jumps to in its turn. What cannot be known
 * or watched now (not looked up yet by the dynamic loader, computed, refused)
 * is noted when a call leaves that way, and looked at again by
 * tl_retprobe_follow().
 */
#include "dynsym.h"
#include "ret.h"

enum { FOLLOW_MAX = 32, STUB = 32 };

uint32_t tl_ret_wanting;

/* --- from handlers ---------------------------------------------------------------- */

const struct tl_ret_follow *tl_ret_followed(const struct tl_ret_state *st, uintptr_t to)
{
	const struct tl_ret_follow *f = TL_LOAD(&st->followed);

	for (; f; f = f->next)
		if (to - f->part.start < f->part.size)
			return TL_RELAXED(&f->entry.state) == TL_PROBE_ARMED ? f : NULL;
	return NULL;
}

static bool is_refused(const struct tl_ret_state *st, uintptr_t to)
{
	uint32_t n = TL_LOAD(&st->nrefused);

	for (uint32_t i = 0; i < n; i++)
		if (st->refused[i].entry == to)
			return true;
	return n == TL_RET_REFUSED || st->nfollowed == FOLLOW_MAX;
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

static struct tl_ret_follow *create(struct tl_ret_state *st, const struct tl_func_part *part,
	const struct tl_exit *exits, size_t n)
{
	struct tl_ret_follow *f;
	size_t size = sizeof(*f) + n * sizeof(f->exits[0]) + (n + 1) * sizeof(f->list[0]);

	f = tl_os_alloc(size);
	if (!f)
		return NULL;
	f->size = size;
	f->part = *part;
	f->list = (struct tl_probe **)(void *)&f->exits[n];
	f->nexits = n;
	tl_ret_fill_entry(&f->entry, st, part->start, tl_ret_followed_entry_hit);
	f->list[0] = &f->entry;
	for (size_t i = 0; i < n; i++) {
		tl_ret_fill_exit(&f->exits[i], st, &exits[i], tl_ret_followed_exit_hit,
			tl_ret_followed_jump_hit);
		f->list[i + 1] = &f->exits[i].probe;
	}
	return f;
}

/* Its exits, in memory of `size` bytes. */
static int find_exits(const struct tl_func_part *part, struct tl_exit **out, size_t *size)
{
	uintptr_t bad;
	int n = tl_ret_part_exits(part, part, 1, part->start, NULL, 0, &bad);

	if (n < 0)
		return n;
	*size = ((size_t)n + 1) * sizeof(**out);
	*out = tl_os_alloc(*size);
	if (!*out)
		return -TL_E_NOMEM;
	return tl_ret_part_exits(part, part, 1, part->start, *out, (size_t)n, &bad);
}

/* A part (.cold) that jumps back into the function: its calls go on there. */
static size_t drop_inner(const struct tl_ret_state *st, struct tl_exit *exits, size_t n)
{
	size_t kept = 0;

	for (size_t i = 0; i < n; i++)
		if (!tl_ret_inside(st, exits[i].target))
			exits[kept++] = exits[i];
	return kept;
}

/* Functions that others call too must not become slow. */
static bool any_by_trap(const struct tl_ret_follow *f)
{
	for (size_t i = 0; i <= f->nexits; i++)
		if (tl_core.optimize && !(f->list[i]->flags & TL_PROBE_NO_JUMP) &&
			tl_ret_by_trap(f->list[i]))
			return true;
	return false;
}

/* Found, but not watched yet. Those of one return probe follow each other, the newest first. */
struct found {
	struct tl_ret_follow *list;
	size_t n;
};

/* The part that holds `to`, to be watched. */
static int find(struct tl_ret_state *st, uintptr_t to, struct found *found)
{
	const struct tl_image *img;
	struct tl_func_part part;
	struct tl_exit *exits;
	struct tl_ret_follow *f;
	size_t size;
	int n = tl_refuse_addr(to, &img);

	if (!n)
		n = tl_func_get(&tl_core.func, to, 0, 0);
	if (n)
		return n;
	part = (struct tl_func_part){tl_core.func.code.start, tl_core.func.code.size};
	n = find_exits(&part, &exits, &size);
	if (n < 0)
		return n;
	f = create(st, &part, exits, drop_inner(st, exits, (size_t)n));
	tl_os_free(exits, size);
	if (!f)
		return -TL_E_NOMEM;
	f->st = st;
	f->to = to;
	f->next = found->list;
	found->list = f;
	found->n++;
	return 0;
}

/* Is it among those found already, or is there no room for it? */
static bool is_found(const struct tl_ret_state *st, uintptr_t to, const struct found *found)
{
	const struct tl_ret_follow *f;
	uint32_t n = st->nfollowed;

	for (f = st->arriving; f; f = f->next)
		if (to - f->part.start < f->part.size)
			return true;
	for (f = found->list; f && f->st == st; f = f->next, n++)
		if (to - f->part.start < f->part.size)
			return true;
	return n >= FOLLOW_MAX;
}

static void look_at(struct tl_ret_state *st, uintptr_t to, struct found *found)
{
	int ret;

	if (!to || to == (uintptr_t)st->rp->entry || tl_ret_followed(st, to) ||
		is_refused(st, to) || is_found(st, to, found) || unbound(to) >= 0)
		return;
	ret = find(st, to, found);
	if (ret)
		refuse(st, to, ret);
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
	struct found *found;
	uintptr_t first, watched; /* of those that it may be */
};

static void look_at_likely(void *arg, uintptr_t to)
{
	struct foretelling *f = arg;

	look_at(f->st, to, f->found);
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
	struct tl_ret_state *st, struct tl_ret_exit *e, uintptr_t to, struct found *found)
{
	struct foretelling f = {.st = st, .found = found};
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
	for (struct tl_ret_follow *f = st->followed; f; f = f->next)
		settle_foretold(st, f->exits, f->nexits);
}

static void look_behind(
	struct tl_ret_state *st, struct tl_ret_exit *exits, size_t n, struct found *found)
{
	for (size_t i = 0; i < n; i++) {
		uintptr_t to = leads_to(&exits[i]);

		look_at(st, to, found);
		foretell(st, &exits[i], to, found);
	}
}

/* One that was found is in place, or is forgotten. */
static void settle(struct tl_group *g)
{
	struct tl_ret_follow *f = g->owner;
	struct tl_ret_state *st = f->st;

	if (g->result) {
		refuse(st, f->to, g->result);
		tl_free_late(f, f->size);
		return;
	}
	f->next = st->arriving;
	st->arriving = f;
	st->nfollowed++;
}

/*
 * All at once: a function jumps to parts of its own (.cold) that return in its
 * place, so no call may wait there before these are watched as well.
 */
static void publish(struct tl_ret_state *st)
{
	struct tl_ret_follow **end = &st->arriving;

	while (*end)
		end = &(*end)->next;
	*end = st->followed;
	TL_STORE(&st->followed, st->arriving);
	st->arriving = NULL;
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

/* Watches what was found, and finds what lies behind it. */
static void watch(struct found *found)
{
	size_t n = found->n, bytes = 2 * n * sizeof(struct tl_group);
	struct tl_ret_follow *f = found->list, *next;
	struct tl_group *g = tl_os_alloc(bytes), one;

	*found = (struct found){NULL, 0};
	for (size_t i = 0; f; f = next, i++) {
		next = f->next;
		one = (struct tl_group){f->list, f->nexits + 1, g ? 0 : -TL_E_NOMEM, f};
		if (g)
			g[i] = one;
		else
			settle(&one);
	}
	if (!g)
		return;
	tl_groups_register_locked(g, n);
	drop_slow(g, g + n, n);
	for (size_t i = 0; i < n; i++)
		settle(&g[i]);
	for (size_t i = 0; i < n; i++) {
		f = g[i].owner;
		if (!g[i].result)
			look_behind(f->st, f->exits, f->nexits, found);
	}
	tl_os_free(g, bytes);
}

static void look_at_wanted(struct tl_ret_state *st, struct found *found)
{
	for (unsigned i = 0; i < TL_RET_WANTED; i++) {
		uintptr_t to = TL_LOAD(&st->wanted[i]);

		look_at(st, to, found);
		TL_STORE(&st->wanted[i], 0);
	}
}

/* Goes as deep as FOLLOW_MAX. */
void tl_ret_follow_all(struct tl_ret_state *list)
{
	struct found found = {NULL, 0};
	struct tl_ret_state *st;

	TL_ASSERT_HELD();
	for (st = list; st; st = st->next) {
		look_behind(st, st->exits, st->nexits, &found);
		for (struct tl_ret_follow *f = st->followed; f; f = f->next)
			look_behind(st, f->exits, f->nexits, &found);
		look_at_wanted(st, &found);
	}
	while (found.n)
		watch(&found);
	for (st = list; st; st = st->next) {
		publish(st);
		settle_all_foretold(st);
	}
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

static void forget_followed(struct tl_ret_state *st)
{
	struct tl_ret_follow *f, *next;

	for (f = st->followed; f; f = next) {
		next = f->next;
		tl_free_late(f, f->size);
	}
	st->followed = NULL;
	st->nfollowed = 0;
}

void tl_ret_unfollow_all(struct tl_ret_state *list)
{
	struct tl_ret_state *st;
	struct tl_ret_follow *f;
	struct tl_group *g;
	size_t n = 0, bytes;

	TL_ASSERT_HELD();
	for (st = list; st; st = st->next)
		n += st->nfollowed;
	bytes = n * sizeof(*g);
	g = n ? tl_os_alloc(bytes) : NULL;
	n = 0;
	for (st = list; st; st = st->next)
		for (f = st->followed; f; f = f->next)
			if (g)
				g[n++] = (struct tl_group){.list = f->list, .n = f->nexits + 1};
			else
				tl_probes_unregister_locked(f->list, f->nexits + 1);
	tl_groups_unregister_locked(g, n);
	if (g)
		tl_os_free(g, bytes);
	for (st = list; st; st = st->next)
		forget_followed(st);
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
		if (to == (uintptr_t)st->rp->entry || tl_ret_followed(st, to))
			continue;
		info->tail = e->addr;
		info->tail_to = to;
		info->tail_why = why_not(st, to);
	}
}

void tl_ret_tell_tails(const struct tl_ret_state *st, struct tl_retprobe_info *info)
{
	const struct tl_ret_follow *f;

	info->nfollowed = st->nfollowed;
	tell(st, st->exits, st->nexits, info);
	for (f = st->followed; f; f = f->next)
		tell(st, f->exits, f->nexits, info);
}
