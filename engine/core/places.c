/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/*
 * Places of static hooks. Each is one instruction in one aligned word, before and after: one store changes it under running
 * threads. While it is changed it stands in the journal, as patches do, and is reserved text.
 */
#include <trapless/reserve.h>
#include "../arch/arch.h"
#include "../os/os.h"
#include "base/broken.h"
#include "base/core.h"
#include "base/mem.h"
#include "base/slab.h"
#include "detour/site.h"
#include "image/func.h"
#include "image/hooks.h"
#include "image/images.h"
#include "image/reserved.h"
#include "places.h"
#include "probe/batch.h"
#include "probe/gone.h"
#include "probe/probe.h"
#include "text/change.h"
#include "text/journal.h"
#include "text/patch.h"

struct place {
	struct place *next; /* of its hook */
	struct tl_reservation text;
	size_t journal; /* its entry there */
	uint32_t generation; /* of its image */
	uint8_t off[TL_PATCH_MAX], on[TL_PATCH_MAX];
};
/* One with places. */
struct hook {
	struct tl_node node; /* key: its word */
	struct place *places;
	uint32_t nplaces, nlisteners;
};

static struct tl_slab hook_slab = {.size = sizeof(struct hook)};
static struct tl_slab place_slab = {.size = sizeof(struct place)};
static struct tl_index hooks;

/* --- taking a place in --------------------------------------------------------------- */

static size_t length(const struct place *p)
{
	return p->text.size;
}

static bool read_text(const struct place *p, uint8_t *now)
{
	return tl_os_text_read(p->text.start, now, length(p)) == length(p);
}

static bool stands(const struct place *p, const uint8_t *bytes)
{
	uint8_t now[TL_PATCH_MAX];

	return read_text(p, now) && tl_equal(now, bytes, length(p));
}

/* Without what probes have changed. */
static bool is_off(const struct place *p)
{
	uint8_t now[TL_PATCH_MAX];

	if (!read_text(p, now))
		return false;
	tl_patch_original(p->text.start, now, length(p));
	return tl_equal(now, p->off, length(p));
}

static const char place_on[] = "a place of a static hook that is on";

/* Another place lies there: the table has told of one of them twice, or of two that overlap. */
static bool is_taken(const struct place *p)
{
	uintptr_t lo = p->text.start;
	const struct tl_reservation *r = tl_reserved_over(lo, lo + length(p), -TL_E_RESERVED);

	return r && r->reason == place_on;
}

/* Is the place what the table says: the instruction that it has while off, where one begins, in text of the same file? */
static int check(const struct tl_hook_place *from, struct place *p)
{
	const struct tl_image *img = tl_image_find(from->at);
	struct tl_site site = {.addr = from->at};
	int ret;

	p->text.start = from->at;
	p->text.reason = place_on;
	p->text.size = tl_arch_switch(
		from->at, from->target, from->jumps ? p->on : p->off, from->jumps ? p->off : p->on);
	if (!length(p) || tl_image_find(from->target) != img || !is_off(p))
		return -TL_E_HOOK_TABLE;
	ret = tl_site_check(&site);
	if (ret == -TL_E_NOT_BOUNDARY || is_taken(p))
		return -TL_E_HOOK_TABLE;
	return ret == -TL_E_NOT_PROVEN ? 0 : ret; /* the table names it */
}

/* Who takes all of a hook's. */
struct taking {
	struct hook *hook;
	uintptr_t at; /* the last one looked at */
};

static int take(void *arg, const struct tl_hook_place *from)
{
	struct taking *t = arg;
	struct place *p;
	int ret;

	if (from->word != t->hook->node.key)
		return 0;
	t->at = from->at;
	p = tl_slab_get(&place_slab);
	ret = p ? check(from, p) : -TL_E_NOMEM;
	if (!ret)
		ret = tl_text_reserve_locked(&p->text, NULL);
	if (ret) {
		if (p)
			tl_slab_put(&place_slab, p);
		return ret;
	}
	p->generation = tl_image_generation(from->at);
	p->next = t->hook->places;
	t->hook->places = p;
	t->hook->nplaces++;
	return 0;
}

static int take_of_image(const struct tl_image *img, void *arg)
{
	return tl_image_places(img, take, arg);
}

static void put_places(struct hook *h)
{
	struct place *p;

	while ((p = h->places)) {
		h->places = p->next;
		tl_reserved_drop(&p->text);
		tl_slab_put(&place_slab, p);
	}
	h->nplaces = 0;
}

/* --- switching -------------------------------------------------------------------------- */

static void fill(struct tl_change *c, const struct place *p, bool on)
{
	*c = (struct tl_change){
		.addr = p->text.start, .len = (uint8_t)length(p), .one_insn = true, .taken = !on};
	tl_copy(c->from, on ? p->off : p->on, length(p));
	tl_copy(c->to, on ? p->on : p->off, length(p));
}

/* Without memory: one after the other. */
static int switch_off_each(const struct hook *h)
{
	int ret = 0;

	for (const struct place *p = h->places; p && !ret; p = p->next) {
		struct tl_change c;

		fill(&c, p, false);
		if (stands(p, p->on))
			ret = tl_text_apply(&c, 1);
	}
	return ret;
}

/* What somebody else has written there since stays. */
static int apply(const struct hook *h, bool on)
{
	size_t size = h->nplaces * sizeof(struct tl_change), n = 0;
	struct tl_change *changes = tl_os_alloc(size);
	int ret;

	if (!changes)
		return on ? -TL_E_NOMEM : switch_off_each(h);
	for (const struct place *p = h->places; p; p = p->next)
		if (stands(p, on ? p->off : p->on))
			fill(&changes[n++], p, on);
	ret = on && n < h->nplaces ? -TL_E_BUSY : tl_text_apply(changes, n);
	tl_os_free(changes, size);
	return ret;
}

/* Before the text changes, and after it is again what it was. */
static int enter(struct hook *h)
{
	int ret = tl_journal_reserve(h->nplaces);

	for (struct place *p = h->places; p && !ret; p = p->next)
		p->journal = tl_journal_put(p->text.start, p->off, p->on, length(p));
	return ret;
}

static void leave(struct hook *h)
{
	for (struct place *p = h->places; p; p = p->next)
		tl_journal_drop(p->journal);
}

static int switch_on(struct hook *h, uintptr_t *at)
{
	struct taking t = {.hook = h};
	int ret;

	tl_func_forget(&tl_func_now); /* it may have changed; then it serves all places in it */
	ret = tl_images_each(take_of_image, &t);

	if (at)
		*at = t.at;
	if (!ret && h->places)
		ret = enter(h);
	if (!ret && h->places) {
		ret = apply(h, true);
		if (ret)
			leave(h);
	}
	if (ret)
		put_places(h);
	return ret;
}

/*
 * Has their file been unmapped? It may lie at the same place again, before anybody has seen that it was away: then none of
 * them is on.
 */
static bool is_gone(const struct hook *h)
{
	for (const struct place *p = h->places; p; p = p->next) {
		uint8_t now[TL_PATCH_MAX];
		bool same = !read_text(p, now) || tl_equal(now, p->on, length(p));

		if (same && p->generation == tl_image_generation(p->text.start))
			return false;
	}
	return true;
}

static void put(struct hook *h)
{
	tl_index_remove(&hooks, &h->node);
	tl_slab_put(&hook_slab, h);
}

static void forget(struct hook *h)
{
	leave(h);
	put_places(h);
	put(h);
}

static int switch_off(struct hook *h)
{
	int ret = apply(h, false);

	if (!ret)
		forget(h);
	return ret;
}

/* With places that are there, or NULL. */
static struct hook *find(uintptr_t word)
{
	struct hook *h = (void *)tl_index_find(&hooks, word);

	_Static_assert(offsetof(struct hook, node) == 0, "an index has nodes");
	if (!h || !is_gone(h))
		return h;
	forget(h);
	return NULL;
}

static int on_locked(uintptr_t word, uintptr_t *at)
{
	struct hook *h;
	int ret = tl_engine_init_locked();

	if (!ret)
		ret = tl_images_refresh();
	if (ret)
		return ret;
	h = find(word);
	if (h) {
		h->nlisteners++;
		return 0;
	}
	h = tl_slab_get(&hook_slab);
	if (!h)
		return -TL_E_NOMEM;
	tl_index_insert(&hooks, &h->node, word);
	ret = switch_on(h, at);
	if (ret || !h->places)
		put(h);
	else
		h->nlisteners = 1;
	return ret;
}

int tl_places_on(uintptr_t word, uintptr_t *at)
{
	int ret;

	tl_os_lock();
	ret = on_locked(word, at);
	tl_os_unlock();
	return ret;
}

int tl_places_off(uintptr_t word)
{
	struct hook *h;
	int ret = 0;

	tl_os_lock();
	if (tl_core.ready)
		ret = tl_images_refresh();
	h = ret ? NULL : find(word);
	if (h && h->nlisteners > 1)
		h->nlisteners--;
	else if (h)
		ret = switch_off(h);
	tl_os_unlock();
	return ret;
}

bool tl_places_exit(void)
{
	struct tl_node *n;

	while ((n = tl_index_ceil(&hooks, 0))) {
		struct hook *h = find(n->key);

		if (h && switch_off(h))
			return false;
	}
	tl_slab_deinit(&hook_slab);
	tl_slab_deinit(&place_slab);
	return true;
}
