/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/*
 * Reserved text: who may not be probed, and why. Ranges may overlap; they are
 * indexed by their start, and looked for as far down as the widest one reaches.
 */
#include <trapless/reserve.h>
#include "../ret/ret.h"

enum { RESERVED = 0x72736476 }; /* tl_reservation.reserved */

struct range {
	struct tl_node node;
	struct tl_reservation *r;
	struct range *same; /* others that begin here */
};

static struct tl_index ranges;
static struct tl_slab slab = {.size = sizeof(struct range)};
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

static int insert(struct tl_reservation *r)
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
	widest = r->size > widest ? r->size : widest;
	r->reserved = RESERVED;
	return 0;
}

static void drop(struct tl_reservation *r)
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

static bool holds(const struct range *g, uintptr_t lo, unsigned kinds)
{
	return kinds >> g->r->kind & 1 && (g->r->start >= lo || lo - g->r->start < g->r->size);
}

/* One of these kinds that overlaps [lo, hi), or NULL. */
static const struct tl_reservation *overlapping(uintptr_t lo, uintptr_t hi, unsigned kinds)
{
	struct tl_node *n = hi ? tl_index_floor(&ranges, hi - 1) : NULL;

	for (; n && (n->key >= lo || lo - n->key < widest);
		n = n->key ? tl_index_floor(&ranges, n->key - 1) : NULL)
		for (const struct range *g = RANGE(n); g; g = g->same)
			if (holds(g, lo, kinds))
				return g->r;
	return NULL;
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
	return lo < hi ? insert(&own) : 0;
}

void tl_reserve_deinit(void)
{
	struct tl_node *n;

	while ((n = tl_index_ceil(&ranges, 0)))
		drop(RANGE(n)->r);
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

/* --- reserving ---------------------------------------------------------------------- */

static bool in_range(const struct tl_reservation *r, uintptr_t addr)
{
	return addr - r->start < r->size;
}

static void tell(const struct tl_probe *p, struct tl_probe_info *who)
{
	if (who && p)
		tl_probe_describe(p, who);
}

static int check_returns(const struct tl_reservation *r, struct tl_probe_info *who)
{
	const struct tl_ret_state *st;

	for (st = tl_ret_states; st; st = st->next)
		if (in_range(r, (uintptr_t)st->rp->entry)) {
			tell(&st->entry, who);
			return -TL_E_PROBED;
		}
	return 0;
}

static int check_probes(const struct tl_reservation *r, struct tl_probe_info *who)
{
	struct tl_site *s = tl_site_next(r->start);

	for (; s && in_range(r, s->addr); s = tl_site_next(s->addr + 1))
		if (s->probes) {
			tell(s->probes, who);
			return -TL_E_PROBED;
		}
	return 0;
}

/* Sites whose patch holds a byte of the range. */
static int add_near(struct tl_batch *b, const struct tl_reservation *r)
{
	uintptr_t end = r->start + r->size;
	uintptr_t from = r->start > 2 * TL_PATCH_MAX ? r->start - 2 * TL_PATCH_MAX : 0;
	struct tl_patch *p;
	int ret = 0;

	for (; (p = tl_patch_below(end)) && p->plan->start >= from; end = p->plan->start) {
		const struct tl_plan *plan = tl_patch_first(p)->plan;

		if (p->plan->start + p->plan->held <= r->start)
			continue;
		for (unsigned i = 0; i < plan->npoints && !ret; i++)
			ret = tl_batch_add(b, plan->points[i].site);
	}
	return ret;
}

/* They take another rung, or it stays as it is. */
static int move_near(const struct tl_reservation *r, struct tl_probe_info *who)
{
	struct tl_batch b;
	int ret = tl_batch_init(&b, 0);

	if (ret)
		return ret;
	b.again = true;
	ret = add_near(&b, r);
	if (!ret && b.nsites)
		ret = tl_batch_commit(&b);
	if (ret && ret != -TL_E_NOMEM && b.bad) {
		tell(b.bad->probes, who);
		ret = -TL_E_PROBED;
	}
	tl_batch_deinit(&b);
	return ret;
}

static int reserve_locked(struct tl_reservation *r, struct tl_probe_info *who)
{
	int ret = tl_engine_init_locked();

	if (!ret)
		ret = tl_images_refresh();
	if (!ret)
		ret = r->kind == TL_RESERVE_RETURN ? check_returns(r, who) : check_probes(r, who);
	if (!ret)
		ret = insert(r);
	if (ret || r->kind == TL_RESERVE_RETURN)
		return ret;
	ret = move_near(r, who);
	if (ret)
		drop(r);
	return ret;
}

int tl_text_reserve(struct tl_reservation *r, struct tl_probe_info *who)
{
	int ret;

	if (!r || !r->size || r->start + r->size < r->start || r->kind >= TL_RESERVE_OWN)
		return -TL_E_INVAL;
	if (r->reserved == RESERVED)
		return -TL_E_STATE;
	tl_os_lock();
	ret = reserve_locked(r, who);
	tl_os_unlock();
	return ret;
}

int tl_text_release(struct tl_reservation *r)
{
	int ret = -TL_E_STATE;

	if (!r)
		return -TL_E_INVAL;
	tl_os_lock();
	if (r->reserved == RESERVED) {
		drop(r);
		ret = 0;
	}
	tl_os_unlock();
	return ret;
}

/* --- asking ---------------------------------------------------------------------------- */

static void reason_of(struct tl_refusal *out, uintptr_t addr, uintptr_t end)
{
	bool returns = out->why == -TL_E_RET_BLACKLIST;
	const struct tl_reservation *r = overlapping(
		addr, returns ? addr + 1 : end, returns ? FORBIDS_RETURNS : FORBIDS_PROBES);
	const char *known = returns ? tl_ret_reason(tl_ret_forbidden(addr)) : NULL;

	out->start = addr;
	out->size = 0;
	out->reason = known ? known : tl_error_text(out->why);
	if (!r || codes[r->kind] != out->why)
		return;
	out->start = r->start;
	out->size = r->size;
	if (r->reason)
		out->reason = r->reason;
}

static int refusal_locked(struct tl_site *s, bool returns, struct tl_refusal *out)
{
	int ret = tl_engine_init_locked();

	if (!ret)
		ret = tl_images_refresh();
	tl_func_forget(&tl_core.func);
	if (!ret)
		ret = tl_site_check(s);
	if (!ret && returns)
		ret = tl_refuse_return(s->addr);
	out->why = ret;
	reason_of(out, s->addr, tl_site_insn_end(s));
	return ret;
}

int tl_text_refusal(const void *addr, bool returns, uintptr_t func_start, size_t func_size,
	struct tl_refusal *out)
{
	struct tl_site s = {.addr = (uintptr_t)addr};
	int ret;

	if (!out)
		return -TL_E_INVAL;
	if (func_start && func_size) {
		s.func_start = func_start;
		s.func_size = (uint32_t)func_size;
	}
	tl_os_lock();
	ret = refusal_locked(&s, returns, out);
	tl_os_unlock();
	return ret;
}

int tl_text_reservations(int (*fn)(const struct tl_reservation *r, void *arg), void *arg)
{
	struct tl_node *n;
	int ret;

	tl_os_lock();
	ret = tl_engine_init_locked();
	for (n = tl_index_ceil(&ranges, 0); n && !ret; n = tl_index_ceil(&ranges, n->key + 1))
		for (const struct range *g = RANGE(n); g && !ret; g = g->same)
			ret = fn(g->r, arg);
	tl_os_unlock();
	return ret;
}
