/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/* The life of return probes: finding the exits, memory, registering, telling. */
#include "../base/arena.h"
#include "../base/broken.h"
#include "../base/core.h"
#include "../base/mem.h"
#include "../detour/site.h"
#include "../detour/threads.h"
#include "../image/func.h"
#include "../image/refuse.h"
#include "../image/reserved.h"
#include "../probe/gone.h"
#include "../probe/probe.h"
#include "../text/patch.h"
#include "ret.h"

enum {
	DEFAULT_ACTIVE = 4096,
	MAX_ACTIVE = 1 << 20,
	MAX_DATA = 2048, /* as probe.h says */
	MAX_EXITS = 65536,
	FEW_EXITS = 64,
	STUB = 32, /* bytes of a linkage table's entry that are looked at */
};

struct tl_ret_state *tl_ret_states;

/* --- finding the exits ------------------------------------------------------------ */

/*
 * A jump to an entry of a linkage table leads to where its word says; one to a return thunk back to the caller; one to a
 * retpoline to where its register says.
 */
static void see_through(struct tl_exit *e)
{
	uint8_t text[STUB];
	size_t got;
	int by;

	if (!e->target)
		return;
	if (e->kind == TL_EXIT_TAIL && tl_os_text_returns(e->target)) {
		*e = (struct tl_exit){.addr = e->addr, .kind = TL_EXIT_RETURN};
		return;
	}
	by = e->kind == TL_EXIT_TAIL ? tl_os_text_jumps_by(e->target) : -1;
	if (by >= 0) {
		*e = (struct tl_exit){.addr = e->addr, .kind = TL_EXIT_COMPUTED};
		tl_arch_exit_by(e, (unsigned)by);
		return;
	}
	got = tl_os_text_read(e->target, text, sizeof(text));
	tl_patch_original(e->target, text, got);
	e->slot = tl_arch_stub_slot(text, got, e->target);
}

static int part_exits(const struct tl_func_part *part, const struct tl_func_part *all, size_t nall,
	uintptr_t entry, struct tl_exit *out, size_t max, uintptr_t *bad)
{
	const struct tl_code *code = &tl_func_now.code;
	const struct tl_image *img;
	int n = tl_refuse_entry(part->start, &img);

	if (!n)
		n = tl_refuse_return(part->start);
	if (!n)
		n = tl_func_get(&tl_func_now, part->start, part->start, part->size);
	if (n)
		return n;
	tl_arch_code_leaves(code, tl_image_note_entry, NULL);
	n = tl_arch_exits(code, all, nall, entry, out, max);
	if (n == -TL_E_NO_EXIT) {
		struct tl_exit one = {0};

		tl_arch_exits(code, all, nall, entry, &one, 1);
		*bad = one.addr;
	}
	for (size_t i = 0; n > 0 && i < (size_t)n && i < max; i++)
		see_through(&out[i]);
	return n > MAX_EXITS ? -TL_E_LIMIT : n;
}

/* Those found last. Engine lock. */
static struct {
	struct tl_exit *at;
	size_t max;
} found;

static void found_deinit(void)
{
	if (found.at)
		tl_os_free(found.at, found.max * sizeof(*found.at));
	found.at = NULL;
	found.max = 0;
}

void tl_ret_deinit(void)
{
	tl_ret_waiting_deinit();
	tl_ret_numbers_deinit();
	found_deinit();
}

static int found_grow(size_t n)
{
	found_deinit();
	n = n < FEW_EXITS ? FEW_EXITS : 2 * n;
	found.at = tl_os_alloc(n * sizeof(*found.at));
	if (!found.at)
		return -TL_E_NOMEM;
	found.max = n;
	return 0;
}

/* Exits of all parts: their number, which may be more than there is room for. */
static int find_all(
	const struct tl_func_part *parts, size_t nparts, uintptr_t entry, uintptr_t *bad)
{
	size_t n = 0;

	for (size_t i = 0; i < nparts; i++) {
		size_t at = n < found.max ? n : found.max;
		int got = part_exits(
			&parts[i], parts, nparts, entry, found.at + at, found.max - at, bad);

		if (got < 0)
			return got;
		n += (size_t)got;
		if (n > MAX_EXITS)
			return -TL_E_LIMIT;
	}
	return (int)n;
}

int tl_ret_exits(const struct tl_func_part *parts, size_t nparts, uintptr_t entry,
	const struct tl_exit **exits, uintptr_t *bad)
{
	int n = found.max ? 0 : found_grow(0), err;

	if (!n)
		n = find_all(parts, nparts, entry, bad);
	if (n > 0 && (size_t)n > found.max) {
		err = found_grow((size_t)n);
		n = err ? err : find_all(parts, nparts, entry, bad);
	}
	*exits = found.at;
	return n;
}

/* --- memory ----------------------------------------------------------------------- */

static size_t round16(size_t n)
{
	return (n + 15) & ~(size_t)15;
}

/* One allocation holds everything; the cursor walks through it. */
static void *part_of(uint8_t **cursor, size_t size)
{
	void *mem = *cursor;

	*cursor += round16(size);
	return mem;
}

/* What a handler may use that runs on stays. */
static void state_destroy(struct tl_ret_state *st)
{
	if (!tl_core.unsettled) {
		tl_sparse_deinit(&st->threads);
		tl_sparse_deinit(&st->pool);
	}
	tl_put_late(st);
}

static struct tl_ret_state *state_create(struct tl_retprobe *rp, size_t nexits, size_t nparts)
{
	uint32_t max = rp->maxactive ? rp->maxactive : DEFAULT_ACTIVE, words = (max + 31) / 32;
	uint32_t data_words = (rp->data_size + 7) / 8;
	size_t step = round16(sizeof(struct tl_ret_instance) + data_words * sizeof(uint64_t));
	size_t size = round16(sizeof(struct tl_ret_state)) +
		      round16((nexits + 1) * sizeof(void *)) +
		      round16(nexits * sizeof(struct tl_ret_exit)) +
		      round16(nparts * sizeof(struct tl_func_part)) +
		      round16(tl_sparse_size(TL_RET_STEP, TL_RET_THREADS + 1)) +
		      round16(words * sizeof(uint32_t)) + tl_sparse_size(step, max);
	uint8_t *mem = tl_arena_get(size);
	struct tl_ret_state *st;

	if (!mem)
		return NULL;
	st = part_of(&mem, sizeof(*st));
	st->list = part_of(&mem, (nexits + 1) * sizeof(void *));
	st->exits = part_of(&mem, nexits * sizeof(struct tl_ret_exit));
	st->parts = part_of(&mem, nparts * sizeof(struct tl_func_part));
	tl_sparse_init(&st->threads, part_of(&mem, tl_sparse_size(TL_RET_STEP, TL_RET_THREADS + 1)),
		TL_RET_STEP, TL_RET_THREADS + 1);
	st->taken = part_of(&mem, words * sizeof(uint32_t));
	tl_sparse_init(&st->pool, mem, step, max);
	if (!tl_sparse_at(&st->threads, 0) || !tl_sparse_at(&st->pool, 0)) {
		state_destroy(st);
		return NULL;
	}
	st->rp = rp;
	st->on_entry = rp->on_entry;
	st->on_return = rp->on_return;
	st->needs_result = rp->flags & TL_PROBE_RESULT;
	st->nexits = nexits;
	st->max = max;
	st->words = words;
	st->data_words = data_words;
	return st;
}

void tl_ret_fill_probe(
	struct tl_probe *p, void *data, uintptr_t addr, tl_pre_fn pre, uint32_t flags)
{
	p->addr = (void *)addr;
	p->pre = pre;
	p->data = data;
	p->flags = flags;
}

void tl_ret_fill_exit(struct tl_ret_exit *e, void *data, const struct tl_exit *exit,
	tl_pre_fn on_return, tl_pre_fn on_jump, uint32_t flags)
{
	tl_ret_fill_probe(&e->probe, data, exit->addr,
		exit->kind == TL_EXIT_RETURN ? on_return : on_jump,
		flags | (exit->all_regs ? TL_PROBE_REGS : 0));
	e->exit = *exit;
}

/* The entry goes first: in a function of one instruction both stand there. */
static void fill(struct tl_ret_state *st, const struct tl_exit *exits,
	const struct tl_func_part *parts, size_t nparts)
{
	uint32_t kind = tl_ret_kind(st);

	tl_copy(st->parts, parts, nparts * sizeof(parts[0]));
	st->nparts = nparts;
	tl_ret_fill_probe(&st->entry, st, (uintptr_t)st->rp->entry,
		st->data_words || st->on_entry ? tl_ret_entry_prepare_hit : tl_ret_entry_hit, kind);
	st->list[0] = &st->entry;
	for (size_t i = 0; i < st->nexits; i++) {
		tl_ret_fill_exit(
			&st->exits[i], st, &exits[i], tl_ret_exit_hit, tl_ret_jump_hit, kind);
		st->exits[i].on_return = st->on_return;
		st->exits[i].threads_at = (uintptr_t)st->threads.flat;
		st->list[i + 1] = &st->exits[i].probe;
	}
	for (size_t i = 0; i <= st->nexits; i++)
		for (size_t k = 0; k < nparts; k++)
			if ((uintptr_t)st->list[i]->addr - parts[k].start < parts[k].size) {
				st->list[i]->func_start = parts[k].start;
				st->list[i]->func_size = (uint32_t)parts[k].size;
			}
}

/* The whole part that holds the entry, where the caller does not know better. */
static int own_part(struct tl_retprobe *rp, struct tl_func_part *part)
{
	const struct tl_image *img;
	uintptr_t addr = (uintptr_t)rp->entry;
	int ret = tl_refuse_addr(addr, &img);

	if (!ret)
		ret = tl_func_get(&tl_func_now, addr, 0, 0);
	if (ret)
		return ret;
	*part = (struct tl_func_part){tl_func_now.code.start, tl_func_now.code.size};
	return 0;
}

static int state_for(struct tl_retprobe *rp, struct tl_ret_state **out)
{
	struct tl_func_part own;
	const struct tl_func_part *parts = rp->parts;
	size_t nparts = rp->nparts;
	const struct tl_exit *exits;
	int n = tl_refuse_return((uintptr_t)rp->entry);

	if (n)
		return n;
	if (!parts || !nparts) {
		n = own_part(rp, &own);
		if (n)
			return n;
		parts = &own;
		nparts = 1;
	}
	n = tl_ret_exits(parts, nparts, (uintptr_t)rp->entry, &exits, &rp->bad_exit);
	if (n < 0)
		return n;
	*out = state_create(rp, (size_t)n, nparts);
	if (!*out)
		return -TL_E_NOMEM;
	fill(*out, exits, parts, nparts);
	return 0;
}

/* --- registering ---------------------------------------------------------------------- */

static bool sane(const struct tl_retprobe *rp)
{
	return rp && rp->entry && rp->on_return && rp->data_size <= MAX_DATA &&
	       rp->maxactive <= MAX_ACTIVE && (rp->parts || !rp->nparts);
}

/* Where a jump that may be an interpreter's costs a trap each time. */
static const struct tl_ret_exit *slow_jump(const struct tl_ret_state *st)
{
	for (size_t i = 0; tl_core.optimize && i < st->nexits; i++) {
		const struct tl_ret_exit *e = &st->exits[i];

		if (e->exit.hot && tl_ret_by_trap(&e->probe) &&
			!(e->probe.flags & TL_PROBE_NO_JUMP))
			return e;
	}
	return NULL;
}

bool tl_ret_by_trap(const struct tl_probe *p)
{
	const struct tl_patch *patch = p->site ? p->site->patch : NULL;

	return patch && patch->plan->rung == TL_RUNG_TRAP;
}

/* Knows its exits; nothing is in place yet. */
static int prepare(struct tl_retprobe *rp, int *result, struct tl_ret_state **out)
{
	struct tl_ret_state *st;
	int ret;

	if (!sane(rp))
		return -TL_E_INVAL;
	if (rp->state)
		return -TL_E_STATE;
	rp->bad_exit = 0;
	ret = state_for(rp, &st);
	if (ret)
		return ret;
	rp->nmissed = rp->nabandoned = rp->ntails = rp->ncrowded = rp->nunpaired = 0;
	tl_fill(rp->missed, 0, sizeof(rp->missed));
	rp->state = st;
	st->result = result;
	*out = st;
	return 0;
}

static bool has_computed(const struct tl_ret_state *st)
{
	for (size_t i = 0; i < st->nexits; i++)
		if (st->exits[i].exit.kind == TL_EXIT_COMPUTED)
			return true;
	return false;
}

static void insert(struct tl_ret_state *st)
{
	st->next = tl_ret_states;
	st->link = &tl_ret_states;
	if (st->next)
		st->next->link = &st->next;
	tl_ret_states = st;
}

static void forget(struct tl_ret_state *list)
{
	struct tl_ret_state *st, *next;

	for (st = list; st; st = next) {
		next = st->next;
		st->rp->state = NULL;
		state_destroy(st);
	}
}

/* Registered, but too slow to stay? */
static bool is_slow(const struct tl_group *g)
{
	const struct tl_ret_state *st = g->owner;
	const struct tl_ret_exit *jump = g->result ? NULL : slow_jump(st);

	if (jump)
		st->rp->bad_exit = jump->exit.addr;
	return jump;
}

/* Alone, with its neighbours in place, it may come out better. */
static void try_again(struct tl_group *g)
{
	g->result = tl_probes_register_locked(g->list, g->n, NULL);
	if (!is_slow(g))
		return;
	tl_probes_unregister_locked(g->list, g->n);
	g->result = -TL_E_NO_EXIT;
}

/* Those whose exits are too slow are taken away again. */
static void drop_slow(struct tl_group *g, struct tl_group *slow, size_t n)
{
	size_t nslow = 0;

	for (size_t i = 0; i < n; i++)
		if (is_slow(&g[i])) {
			slow[nslow++] = g[i];
			g[i].result = -TL_E_NO_EXIT;
		}
	tl_groups_unregister_locked(slow, nslow);
	for (size_t i = 0; i < n && nslow; i++)
		if (g[i].result == -TL_E_NO_EXIT)
			try_again(&g[i]);
}

/* All of a list into groups g[]. */
static size_t fill_groups(struct tl_group *g, struct tl_ret_state *list)
{
	size_t n = 0;

	for (struct tl_ret_state *st = list; st; st = st->next)
		g[n++] = (struct tl_group){st->list, st->nexits + 1, 0, st};
	return n;
}

/*
 * Those that are jumped to first, and all of them: no call leaves before
 * somebody watches. g has room for twice the list. Returns those refused.
 */
static struct tl_ret_state *arm(struct tl_ret_state *list, struct tl_group *g)
{
	struct tl_ret_state *refused = NULL;
	size_t n;

	tl_ret_follow_all(list);
	n = fill_groups(g, list);
	tl_groups_register_locked(g, n);
	drop_slow(g, g + n, n);
	for (size_t i = 0; i < n; i++) {
		struct tl_ret_state *st = g[i].owner;

		*st->result = g[i].result;
		st->result = NULL;
		if (!g[i].result) {
			insert(st);
			continue;
		}
		st->next = refused;
		refused = st;
	}
	return refused;
}

/* The choosy ones go first: a computed jump must not come out as a breakpoint. */
/* Engine lock held. */
static void thread_gone(struct tl_thread *t)
{
	struct tl_ret_state *st;

	TL_ASSERT_HELD();
	if (!t->ret_at)
		return;
	for (st = tl_ret_states; st; st = st->next)
		tl_ret_thread_forget(st, t);
	tl_ret_number_give(t);
}

static int register_locked(struct tl_retprobe **rps, size_t n, int *results, struct tl_group *g)
{
	struct tl_ret_state *lists[2] = {NULL, NULL}, *one;
	int ret = tl_engine_init_locked();

	if (!ret)
		ret = tl_threads_want_table();
	if (!ret)
		ret = tl_ret_waiting_init();
	tl_threads_tell_gone(thread_gone);
	if (!ret)
		ret = tl_images_refresh();
	tl_func_forget(&tl_func_now);
	for (size_t i = n; i--;) { /* the lists are in the caller's order */
		one = NULL;
		results[i] = ret ? ret : prepare(rps[i], &results[i], &one);
		if (one) {
			struct tl_ret_state **list = &lists[!has_computed(one)];

			one->next = *list;
			*list = one;
		}
	}
	for (unsigned i = 0; i < 2; i++) {
		one = arm(lists[i], g);
		tl_ret_unfollow_all(one);
		forget(one);
	}
	for (size_t i = 0; i < n && !ret; i++)
		ret = results[i];
	return ret;
}

int tl_retprobes_register(struct tl_retprobe **rps, size_t n, int *results)
{
	size_t bytes = 2 * n * sizeof(struct tl_group);
	struct tl_group *g;
	int ret = -TL_E_NOMEM;

	if (!n)
		return 0;
	if (!rps || !results)
		return -TL_E_INVAL;
	tl_os_lock();
	g = tl_os_alloc(bytes);
	for (size_t i = 0; i < n && !g; i++)
		results[i] = ret;
	if (g) {
		ret = register_locked(rps, n, results, g);
		tl_os_free(g, bytes);
	}
	tl_os_unlock();
	return ret;
}

int tl_retprobe_register(struct tl_retprobe *rp)
{
	int result;

	return tl_retprobes_register(&rp, 1, &result);
}

static void remove_state(struct tl_ret_state *st)
{
	*st->link = st->next;
	if (st->next)
		st->next->link = st->link;
}

static void add_missed(struct tl_retprobe *rp, const struct tl_probe *p)
{
	rp->nmissed += p->nmissed;
	for (unsigned why = 0; why < TL_MISSED_KINDS; why++)
		rp->missed[why] += p->missed[why];
}

/* Those of a list that is not tl_ret_states; g has room for it. */
static int unregister_locked(struct tl_ret_state *list, struct tl_group *g)
{
	int ret;

	tl_ret_mark_left(list);
	ret = tl_groups_unregister_locked(g, fill_groups(g, list));
	tl_ret_unfollow_all(list);
	tl_ret_count_left(list);
	for (struct tl_ret_state *st = list; st; st = st->next)
		for (size_t i = 0; i <= st->nexits; i++)
			add_missed(st->rp, st->list[i]);
	forget(list);
	return ret;
}

/* The last resort where memory is short: one at a time. */
static int unregister_one(struct tl_retprobe *rp)
{
	struct tl_ret_state *st = rp ? rp->state : NULL;
	struct tl_group g;

	if (!st)
		return rp ? -TL_E_STATE : -TL_E_INVAL;
	remove_state(st);
	st->next = NULL;
	return unregister_locked(st, &g);
}

int tl_retprobe_unregister(struct tl_retprobe *rp)
{
	int ret;

	tl_os_lock();
	ret = unregister_one(rp);
	tl_os_unlock();
	return ret;
}

static int unregister_many(struct tl_retprobe **rps, size_t n, struct tl_group *g)
{
	struct tl_ret_state *list = NULL, *st;

	for (size_t i = 0; i < n; i++)
		if (!rps[i] || !rps[i]->state)
			return rps[i] ? -TL_E_STATE : -TL_E_INVAL;
	for (size_t i = n; i--;) {
		st = rps[i]->state;
		if (!st)
			continue; /* named twice */
		rps[i]->state = NULL;
		remove_state(st);
		st->next = list;
		list = st;
	}
	return unregister_locked(list, g);
}

int tl_retprobes_unregister(struct tl_retprobe **rps, size_t n)
{
	size_t bytes = n * sizeof(struct tl_group);
	struct tl_group *g;
	int ret = 0, err;

	if (!n)
		return 0;
	if (!rps)
		return -TL_E_INVAL;
	tl_os_lock();
	g = tl_os_alloc(bytes);
	for (size_t i = 0; i < n && !g; i++) {
		err = unregister_one(rps[i]);
		ret = ret ? ret : err;
	}
	if (g) {
		ret = unregister_many(rps, n, g);
		tl_os_free(g, bytes);
	}
	tl_os_unlock();
	return ret;
}

void tl_ret_unregister_all(void)
{
	while (tl_ret_states)
		unregister_one(tl_ret_states->rp);
}

/* --- telling -------------------------------------------------------------------------- */

int tl_retprobe_describe(const struct tl_retprobe *rp, struct tl_retprobe_info *info)
{
	const struct tl_ret_state *st;

	if (!rp || !info)
		return -TL_E_INVAL;
	tl_fill(info, 0, sizeof(*info));
	tl_os_lock();
	st = rp->state;
	for (size_t i = 0; st && i < st->nexits; i++) {
		info->ntrapped += tl_ret_by_trap(&st->exits[i].probe);
		info->ncomputed += st->exits[i].exit.kind == TL_EXIT_COMPUTED;
	}
	if (st) {
		info->entry = &st->entry;
		info->nexits = (uint32_t)st->nexits;
		tl_ret_tell_tails(st, info);
	}
	tl_os_unlock();
	return st ? 0 : -TL_E_STATE;
}
