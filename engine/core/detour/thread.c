/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/*
 * Records of threads, the slow path of every detour, and grace periods.
 * docs/locking.md has the argument why a grace period is enough.
 */
#include "../base/arena.h"
#include "../base/broken.h"
#include "../base/core.h"
#include "../base/mem.h"
#include "../base/race.h"
#include "detour.h"
#include "site.h"
#include "threads.h"

enum { TID_SWEEPING = 0xffffffff, POLL_US = 50, POLLS_BEFORE_LOOK = 200 };

static struct tl_thread *threads;
/* A bit for each record that has been used: nobody looks at the others, whose memory stays untouched. */
static uint32_t ever[TL_THREADS / 32];

/* Private stacks: pools that only grow; a bit set is a stack in use. */
struct pool {
	uintptr_t base;
	size_t stride;
	uint32_t taken[TL_STACKS / 32];
};
static void (*gone)(struct tl_thread *t); /* who else keeps something of threads */
static struct pool pools[TL_STACK_POOLS];
static unsigned npools, max_pools; /* fewer where memory was refused */

int tl_threads_want_table(void)
{
	struct tl_thread *t;

	if (threads)
		return 0;
	t = tl_os_alloc_sparse(sizeof(*threads) * TL_THREADS);
	if (!t)
		return -TL_E_NOMEM;
	/* Where a thread pointer leads to zeros, a detour would take a free entry for its own. */
	t[tl_thread_hash(0)].key = TL_THREAD_NO_KEY;
	TL_STORE(&threads, t);
	return 0;
}

int tl_threads_init(void)
{
	int ret = tl_core.contexts ? 0 : tl_threads_want_table();

	if (ret)
		return ret;
	max_pools = TL_STACK_POOLS;
	tl_core.env.threads = threads;
	tl_core.env.enter_slow = tl_thread_enter_slow;
	return 0;
}

void tl_threads_deinit(void)
{
	for (unsigned i = 0; i < npools; i++)
		tl_os_stacks_release(pools[i].base, TL_STACKS, TL_BIG_STACK);
	npools = max_pools = 0;
	tl_fill(pools, 0, sizeof(pools));
	tl_fill(ever, 0, sizeof(ever));
	if (threads)
		tl_os_free(threads, sizeof(*threads) * TL_THREADS);
	threads = NULL;
	tl_core.env.threads = NULL;
}

/* --- private stacks ---------------------------------------------------- */

static unsigned stacks_free(const struct pool *p)
{
	unsigned n = 0;

	for (unsigned i = 0; i < TL_STACKS / 32; i++)
		n += 32 - tl_bits(TL_RELAXED(&p->taken[i]));
	return n;
}

static bool few_stacks(unsigned n)
{
	return !n || n * TL_STACKS < tl_core.nthreads + TL_SPARE_STACKS ||
	       stacks_free(&pools[n - 1]) <= TL_SPARE_STACKS;
}

/* Where there are some already those still serve. */
int tl_threads_want_stacks(void)
{
	unsigned n;
	int ret;

	TL_ASSERT_HELD();
	while ((n = TL_LOAD(&npools)) < max_pools && few_stacks(n)) {
		ret = tl_os_stacks_reserve(
			TL_STACKS, TL_BIG_STACK, &pools[n].base, &pools[n].stride);
		if (ret && !n)
			return ret;
		if (ret)
			max_pools = n;
		else
			TL_STORE(&npools, n + 1);
	}
	return 0;
}

unsigned tl_threads_more(unsigned nthreads)
{
	unsigned room = 0;

	tl_os_lock();
	tl_core.nthreads = nthreads;
	if (npools && !tl_threads_want_stacks() && npools < max_pools)
		room = npools * TL_STACKS - TL_SPARE_STACKS;
	tl_os_unlock();
	return room;
}

static bool take_bit(uint32_t *word, unsigned *bit)
{
	uint32_t old = TL_RELAXED(word);

	while (old != UINT32_MAX) {
		*bit = (unsigned)__builtin_ctz(~old);
		if (TL_CAS(word, &old, old | 1u << *bit))
			return true;
	}
	return false;
}

/* The top of a free stack, or 0. Any context. */
static uintptr_t take_stack(void)
{
	unsigned n = TL_LOAD(&npools), bit;

	for (unsigned p = 0; p < n; p++)
		for (unsigned i = 0; i < TL_STACKS / 32; i++)
			if (take_bit(&pools[p].taken[i], &bit))
				return pools[p].base + (32 * i + bit) * pools[p].stride +
				       TL_BIG_STACK;
	return 0;
}

static void give_stack(uintptr_t top)
{
	for (unsigned p = 0; p < npools; p++) {
		uintptr_t off = top - TL_BIG_STACK - pools[p].base;
		size_t i = pools[p].stride ? off / pools[p].stride : TL_STACKS;

		if (top && i < TL_STACKS && off == i * pools[p].stride)
			__atomic_fetch_and(
				&pools[p].taken[i / 32], ~(1u << (i % 32)), __ATOMIC_RELEASE);
	}
}

/* --- records ---------------------------------------------------------------- */

/* A record starts a new life: another thread has the same thread pointer now. */
static void reset(struct tl_thread *t)
{
	t->guard = 0;
	t->gives = 0;
	t->awaited = 0;
	t->call = NULL;
	t->nmissed = 0;
	for (unsigned i = 0; i < TL_LOCALS; i++)
		t->local[i] = NULL;
}

/* The next record that has been used, from number i on; NULL: no more. */
static struct tl_thread *used_from(unsigned i)
{
	uint32_t bits;

	for (; threads && i < TL_THREADS; i = (i | 31) + 1) {
		bits = TL_LOAD(&ever[i / 32]) >> i % 32;
		if (bits)
			return &threads[i + (unsigned)__builtin_ctz(bits)];
	}
	return NULL;
}

static struct tl_thread *used_behind(const struct tl_thread *t)
{
	return used_from((unsigned)(t - threads) + 1);
}

/* The records on which handlers run, one after the other; NULL: no more. They are the processors', or the threads'. */
static struct tl_thread *running_from(unsigned i)
{
	if (!tl_core.contexts)
		return used_from(i);
	return i < tl_core.ncontexts ? &tl_core.contexts[i] : NULL;
}

static struct tl_thread *first_running(void)
{
	return running_from(0);
}

static struct tl_thread *next_running(const struct tl_thread *t)
{
	return running_from((unsigned)(t - (tl_core.contexts ? tl_core.contexts : threads)) + 1);
}

static struct tl_thread *entry(unsigned h, unsigned i)
{
	return &threads[(h + i) & (TL_THREADS - 1)];
}

/* The entry of the calling thread, if there is one. */
static struct tl_thread *known(void)
{
	uintptr_t key = TL_LOAD(&threads) ? tl_os_thread_key(true) : 0;

	for (unsigned i = 0; key && i < TL_THREAD_WINDOW; i++) {
		struct tl_thread *t = entry(tl_thread_hash(key), i);

		if (TL_LOAD(&t->key) == key)
			return t;
	}
	return NULL;
}

struct tl_thread *tl_thread_known(void)
{
	return tl_core.contexts ? tl_os_context() : known();
}

/*
 * The record of the calling thread. A signal handler may come between any two
 * steps and do the same: then one of the two finds the other's work, because
 * both look at the entries in the same order and claim with one CAS.
 */
static struct tl_thread *find(uintptr_t key)
{
	unsigned h = tl_thread_hash(key);
	uint32_t tid;

again:
	for (unsigned i = 0; i < TL_THREAD_WINDOW; i++) {
		struct tl_thread *t = entry(h, i);

		if (TL_LOAD(&t->key) != key)
			continue;
		tid = TL_LOAD(&t->tid);
		if (tid == TID_SWEEPING)
			continue;
		if (tid && tl_os_thread_same(key, tid))
			return t;
		if (!TL_CAS(&t->tid, &tid, tl_os_thread_id(key)))
			goto again;
		tl_race_point(RP_CLAIMED);
		reset(t);
		return t;
	}
	for (unsigned i = 0; i < TL_THREAD_WINDOW; i++) {
		struct tl_thread *t = entry(h, i);
		uintptr_t none = 0;

		if (TL_LOAD(&t->key))
			continue;
		if (!TL_CAS(&t->key, &none, key))
			goto again;
		__atomic_fetch_or(
			&ever[(t - threads) / 32], 1u << (t - threads) % 32, __ATOMIC_RELEASE);
		tl_race_point(RP_CLAIMED);
		reset(t);
		TL_STORE(&t->tid, tl_os_thread_id(key));
		return t;
	}
	return NULL;
}

/*
 * The guard holds the stack pointer at which a handler was entered. Stacks
 * grow down: a hit below it comes from inside that handler. A hit at or above
 * it means that the handler's frames are gone (siglongjmp), unless we are on
 * the alternate signal stack, which may lie anywhere.
 */
static bool abandoned(uintptr_t guard, uintptr_t sp)
{
	return sp >= guard && !tl_os_on_signal_stack();
}

/* What the thread pointer leads to is its own address, but where a program has led it elsewhere. */
static uintptr_t reliable(uintptr_t key)
{
	if (!key)
		return tl_os_thread_key(true);
	if (key != TL_THREAD_NO_KEY && tl_core.env.fast_key && key != tl_os_thread_key(true))
		return TL_THREAD_NO_KEY;
	return key;
}

struct tl_thread *tl_thread_enter_slow(struct tl_site *site, uintptr_t sp, uintptr_t key)
{
	struct tl_thread *t;
	uintptr_t guard;

	key = reliable(key);
	t = key && key != TL_THREAD_NO_KEY ? find(key) : NULL;
	if (!t) {
		tl_site_count_missed(site,
			key && key != TL_THREAD_NO_KEY ? TL_MISSED_RECORD : TL_MISSED_STRANGE);
		return NULL;
	}
	guard = TL_RELAXED(&t->guard);
	if (guard && !abandoned(guard, sp)) {
		tl_count(&t->nmissed);
		tl_site_count_inside(site);
		return NULL;
	}
	if (site->private_stack && !t->stack)
		t->stack = take_stack();
	if (site->private_stack && !t->stack) {
		tl_site_count_missed(site, TL_MISSED_NUMBER);
		return NULL;
	}
	t->gives = 0; /* of a handler that was left by siglongjmp */
	TL_STORE(&t->guard, 0); /* the detour sets it */
	return t;
}

/*
 * Has its thread ended? Where detours go by the thread pointer alone, another
 * thread may have come to use the record since, under the old one's id: so
 * nobody knows.
 */
static bool has_ended(uint32_t tid)
{
	return tl_core.env.tid_offset && !tl_os_thread_alive(tid);
}

struct tl_thread *tl_thread_with_calls(struct tl_thread *self, bool make)
{
	if (!tl_core.contexts)
		return self;
	return make ? find(tl_os_thread_key(true)) : known();
}

/* Is there nobody any more who could take its guard away? */
static bool is_nobodys(const struct tl_thread *t)
{
	uint32_t tid = TL_LOAD(&t->tid);

	return !tl_core.contexts && (!tid || has_ended(tid));
}

void tl_threads_tell_gone(void (*fn)(struct tl_thread *t))
{
	TL_ASSERT_HELD();
	gone = fn;
}

void tl_threads_sweep(void)
{
	TL_ASSERT_HELD();
	for (struct tl_thread *t = used_from(0); t; t = used_behind(t)) {
		uint32_t tid = TL_LOAD(&t->tid);
		uintptr_t stack;

		if (!TL_LOAD(&t->key) || !tid || !has_ended(tid))
			continue;
		/* A new thread with the same thread pointer may take the record over right now. */
		if (!TL_CAS(&t->tid, &tid, TID_SWEEPING))
			continue;
		if (gone)
			gone(t);
		stack = t->stack;
		t->stack = 0;
		reset(t);
		t->tid = 0;
		TL_STORE(&t->key, 0);
		give_stack(stack);
	}
}

void **tl_thread_local(struct tl_thread *self, unsigned slot)
{
	return slot < TL_LOCALS ? &self->local[slot] : NULL;
}

void tl_threads_forget(unsigned slot)
{
	if (slot < TL_LOCALS)
		for (struct tl_thread *t = first_running(); t; t = next_running(t))
			TL_STORE(&t->local[slot], NULL);
}

uint32_t tl_thread_tid(const struct tl_thread *self)
{
	return tl_core.contexts ? tl_os_thread_id(tl_os_thread_key(true)) : self->tid;
}

/* --- grace periods -------------------------------------------------------------- */

/*
 * A handler that outlived its frames leaves its guard set for good. It is
 * recognised by what it lacks: nobody stands in, or will return to, a detour.
 * False: it runs on, and *patience, a number of looks, is over.
 */
static bool wait_for(struct tl_thread *t, uintptr_t seen, bool (*quiet)(void *arg), void *arg,
	unsigned *patience)
{
	unsigned polls = 0;

	while (TL_LOAD(&t->guard) == seen) {
		if (!*patience)
			return false;
		tl_os_pause(POLL_US);
		if (++polls % POLLS_BEFORE_LOOK)
			continue;
		if (is_nobodys(t) || quiet(arg))
			return true;
		*patience -= tl_core.patience != 0;
	}
	return true;
}

int tl_threads_grace(bool (*quiet)(void *arg), void *arg)
{
	uintptr_t self = tl_os_thread_key(false);
	unsigned patience = tl_core.patience ? tl_core.patience : 1;
	int ret = tl_os_sync_memory();

	TL_ASSERT_HELD();
	if (ret)
		return ret;
	tl_race_point(RP_GRACE);
	for (struct tl_thread *t = first_running(); t; t = next_running(t)) {
		uintptr_t seen = TL_LOAD(&t->guard);

		/* Our own guard can only be one left behind: handlers may not call us. */
		if (!seen || TL_LOAD(&t->key) == self || wait_for(t, seen, quiet, arg, &patience))
			continue;
		t->awaited = seen;
		tl_core.unsettled = true;
		ret = -TL_E_BUSY;
	}
	return ret;
}

static bool runs_on(const struct tl_thread *t)
{
	return TL_LOAD(&t->guard) == t->awaited && !is_nobodys(t);
}

bool tl_threads_settled(void)
{
	uintptr_t lo, hi;
	bool any = false;

	TL_ASSERT_HELD();
	if (!tl_core.unsettled)
		return true;
	for (struct tl_thread *t = first_running(); t; t = next_running(t)) {
		if (t->awaited && !runs_on(t))
			t->awaited = 0;
		any |= t->awaited != 0;
	}
	tl_core.unsettled = any && tl_chunks_span(&lo, &hi) && tl_os_quiet(lo, hi) != 0;
	return !tl_core.unsettled;
}

void tl_put_late(void *obj)
{
	if (!tl_core.unsettled)
		tl_arena_put(obj);
}
