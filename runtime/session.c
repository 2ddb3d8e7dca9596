/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/* Session memory: layout, checks, thread blocks. */
#include "internal.h"
#include "ring.h"

#define POOL_DEFAULT (sizeof(void *) == 8 ? 128u : 16u) /* MiB */
#define POOL_MAX     1024u
#define OWN_MIN	     2048u
#define CHUNK_SHIFT  16 /* 64 KiB */
#define CHUNKS_MIN   8 /* in the pool */
#define AREA_MAX     (1u << 30)
#define BLOCKS_MAX   65535u
#define LOCK_CYCLES  200000000u /* where the clock is not known yet */

static uint64_t align(uint64_t v, uint64_t a)
{
	return (v + a - 1) & ~(a - 1);
}

/* A large chunk takes whatever one printf() may write, of 32 strings. */
static uint32_t chunk_shift(uint32_t max_string)
{
	uint32_t shift = CHUNK_SHIFT;

	while (1u << shift < 32 * max_string)
		shift++;
	return shift;
}

/* Of a thread whose records may take no more than one large chunk: it has two of half that size, and no others. */
static void ring_layout(const struct tl_tap_options *o, struct tl_session *s)
{
	uint32_t shift = chunk_shift(o->max_string), most = o->ring_size >> shift;
	uint32_t pool = o->ring_pool ? o->ring_pool : POOL_DEFAULT, half = OWN_MIN;

	if (pool > POOL_MAX)
		pool = POOL_MAX;
	s->chunk_size = 1u << shift;
	s->own_size = OWN_MIN;
	s->nchunks = (uint32_t)(((uint64_t)pool << 20) >> shift);
	if (s->nchunks < CHUNKS_MIN)
		s->nchunks = CHUNKS_MIN;
	s->chunks_most = o->ring_size ? most : s->nchunks;
	if (!o->ring_size || o->ring_size > s->chunk_size)
		return;
	while (half * 2 < o->ring_size)
		half <<= 1;
	s->own_size = half;
	s->chunks_most = 0;
	s->nchunks = 0;
}

int tl_session_layout(const struct tl_tap_options *o, uint32_t nblocks, struct tl_session *s)
{
	uint64_t stride;

	if (o->globals_size > AREA_MAX || o->shard_size > AREA_MAX || o->nlocks > 65536 ||
		nblocks < 2 || nblocks > BLOCKS_MAX || o->max_string < 16 ||
		o->max_string > 1u << 20)
		return -1;
	memset(s, 0, sizeof(*s));
	s->magic = TL_SESSION_MAGIC;
	s->version = TL_WIRE_VERSION;
	s->locks_off = (uint32_t)align(sizeof(*s), 64);
	s->nlocks = o->nlocks;
	s->globals_off = align(s->locks_off + (uint64_t)o->nlocks * sizeof(struct tl_lock), 64);
	s->globals_size = align(o->globals_size, 64);
	ring_layout(o, s);
	s->owners_off = align(s->globals_off + s->globals_size, 64);
	s->blocks_off = align(s->owners_off + (uint64_t)s->nchunks * sizeof(uint32_t), 4096);
	s->nblocks = nblocks;
	s->shard_off = (uint32_t)align(
		sizeof(struct tl_block) + sizeof(struct tl_block_own) + o->max_string, 64);
	s->shard_size = (uint32_t)align(o->shard_size, 64);
	s->ring_off = (uint32_t)align((uint64_t)s->shard_off + s->shard_size, 64);
	stride = align((uint64_t)s->ring_off + TL_OWN_CHUNKS * s->own_size, 64);
	if (stride > UINT32_MAX)
		return -1;
	s->block_stride = (uint32_t)stride;
	s->chunks_off = align(s->blocks_off + stride * nblocks, 4096);
	s->size = s->chunks_off + (uint64_t)s->nchunks * s->chunk_size;
	return s->size > SIZE_MAX / 2 ? -1 : 0;
}

void tl_session_init(void *base, const struct tl_session *s)
{
	memcpy(base, s, sizeof(*s));
}

static bool inside(uint64_t off, uint64_t size, uint64_t total)
{
	return off <= total && size <= total - off;
}

static bool rings_sane(const struct tl_session *s, uint64_t size)
{
	uint64_t chunks = (uint64_t)s->chunk_size * s->nchunks;
	uint32_t own = s->own_size;

	if (own < OWN_MIN || own & (own - 1) || s->chunk_size < own ||
		s->chunk_size & (s->chunk_size - 1) || s->nchunks > 1u << 20)
		return false;
	return inside(s->ring_off, (uint64_t)TL_OWN_CHUNKS * own, s->block_stride) &&
	       inside(s->owners_off, (uint64_t)s->nchunks * sizeof(uint32_t), size) &&
	       inside(s->chunks_off, chunks, size) &&
	       chunks + TL_OWN_CHUNKS * (uint64_t)s->chunk_size <= UINTPTR_MAX;
}

static bool session_sane(const struct tl_session *s, uint64_t size, const struct tl_tap_options *o)
{
	if (s->magic != TL_SESSION_MAGIC || s->version != TL_WIRE_VERSION || s->size > size)
		return false;
	if ((s->locks_off | s->globals_off | s->owners_off | s->blocks_off | s->chunks_off |
		    s->shard_off | s->ring_off | s->block_stride) &
		63)
		return false;
	if (s->locks_off < sizeof(*s) ||
		!inside(s->locks_off, (uint64_t)s->nlocks * sizeof(struct tl_lock), size) ||
		!inside(s->globals_off, s->globals_size, size))
		return false;
	if (s->nblocks < 2 || s->nblocks > BLOCKS_MAX ||
		!inside(s->blocks_off, (uint64_t)s->block_stride * s->nblocks, size))
		return false;
	if (!rings_sane(s, size))
		return false;
	return s->shard_off >=
		       sizeof(struct tl_block) + sizeof(struct tl_block_own) + o->max_string &&
	       inside(s->shard_off, s->shard_size, s->ring_off) && s->nlocks >= o->nlocks &&
	       s->globals_size >= o->globals_size && s->shard_size >= o->shard_size;
}

int tl_view_attach(struct tl_view *v, void *base, uint64_t size, const struct tl_tap_options *o)
{
	static const uint32_t nobody;
	struct tl_session s;
	uint64_t rem;

	if (size < sizeof(s) || o->max_string < 16 || o->max_string > 1u << 20)
		return -1;
	memcpy(&s, base, sizeof(s)); /* once: it may change under our eyes */
	if (!session_sane(&s, size, o))
		return -1;
	memset(v, 0, sizeof(*v));
	v->session = base;
	v->on = &v->session->live;
	v->guests = &nobody;
	v->size = s.size;
	v->locks = (uint8_t *)base + s.locks_off;
	v->nlocks = s.nlocks;
	v->globals = (uint8_t *)base + s.globals_off;
	v->globals_size = s.globals_size;
	v->blocks = (uint8_t *)base + s.blocks_off;
	v->block_stride = s.block_stride;
	v->nblocks = s.nblocks;
	v->shard_off = s.shard_off;
	v->shard_size = s.shard_size;
	v->ring_off = s.ring_off;
	v->own_size = s.own_size;
	v->owners = (uint32_t *)(void *)((uint8_t *)base + s.owners_off);
	v->chunks = (uint8_t *)base + s.chunks_off;
	v->chunk_size = s.chunk_size;
	v->chunk_shift = (uint32_t)__builtin_ctz(s.chunk_size);
	v->nchunks = s.nchunks;
	v->chunks_most = s.chunks_most;
	v->max_string = o->max_string;
	v->max_action = o->max_action ? o->max_action : 1000;
	v->max_nesting = o->max_nesting ? o->max_nesting : 10;
	v->max_errors = o->max_errors;
	if (v->max_action > INT32_MAX)
		v->max_action = INT32_MAX;
	v->lock_cycles = s.clock_mult ? tl_udiv(TL_LOCK_NS << 32, s.clock_mult, &rem) : LOCK_CYCLES;
	return 0;
}

void tl_view_outside(struct tl_view *v)
{
	static const uint32_t always = 1;

	v->on = &always;
	v->outside = 1;
}

/* --- globals ------------------------------------------------------------------- */

static uint64_t value_size(uint8_t type, uint32_t buckets, uint32_t max_string)
{
	switch (type) {
	case TL_VALUE_LONG:
		return 8;
	case TL_VALUE_STRING:
		return TL_STR_SIZE(max_string);
	case TL_VALUE_STATS:
		return TL_STAT_SIZE(buckets);
	}
	return 0;
}

static bool hist_buckets(const struct tl_tap_global *g, uint32_t *n)
{
	uint64_t rem, steps;

	*n = 0;
	if (g->hist == 1)
		*n = TL_HIST_LOG_BUCKETS;
	if (g->hist == 2) {
		if (g->hist_step <= 0 || g->hist_high < g->hist_low)
			return false;
		steps = tl_udiv((uint64_t)g->hist_high - (uint64_t)g->hist_low,
			(uint64_t)g->hist_step, &rem);
		if (steps + 3 > 4096)
			return false;
		*n = (uint32_t)steps + 3;
	}
	return g->hist <= 2;
}

uint64_t tl_global_size(const struct tl_tap_global *g, uint32_t max_string)
{
	uint32_t i, buckets, nbuckets = 1;
	uint64_t stride;

	if (!hist_buckets(g, &buckets) || g->nkeys > TL_MAX_KEYS)
		return 0;
	stride = value_size(g->type, buckets, max_string);
	if (!stride || !g->nkeys)
		return stride;
	for (i = 0; i < g->nkeys; i++) {
		uint64_t key = g->key_types[i] == TL_VALUE_STATS
				       ? 0
				       : value_size(g->key_types[i], 0, max_string);

		if (!key)
			return 0;
		stride += key;
	}
	stride += TL_MAP_LINKS;
	if (!g->capacity || g->capacity > 1u << 28)
		return 0;
	while (nbuckets < g->capacity)
		nbuckets <<= 1;
	return TL_MAP_HEAD + ((4ull * nbuckets + 7) & ~7ull) + g->capacity * stride;
}

static int global_init(
	struct tl_view *v, const struct tl_tap_global *g, const char *strings, uint64_t nstrings)
{
	uint64_t need = tl_global_size(g, v->max_string), n = 0;
	uint8_t *at;

	if (!need || g->offset & 7 || g->size < need ||
		(g->nkeys == 0 && g->sharded && g->type == TL_VALUE_STRING))
		return -1;
	if (!inside(g->offset, g->size, g->sharded ? v->shard_size : v->globals_size))
		return -1;
	at = g->sharded ? (uint8_t *)tl_block_at(v, 0) + v->shard_off + g->offset
			: v->globals + g->offset;
	if (g->nkeys)
		return 0;
	if (g->type == TL_VALUE_LONG)
		memcpy(at, &g->init, 8);
	if (g->type == TL_VALUE_STRING) {
		struct tl_str *s = (struct tl_str *)at;

		if (g->init_string >= nstrings)
			return -1;
		while (g->init_string + n < nstrings && strings[g->init_string + n])
			n++;
		if (n >= v->max_string)
			n = v->max_string - 1;
		memcpy(s->b, strings + g->init_string, n);
		s->b[n] = 0;
		s->len = (uint32_t)n;
	}
	return 0;
}

int tl_session_globals(struct tl_view *v, const struct tl_tap_global *g, uint32_t n,
	const char *strings, uint64_t strings_size)
{
	uint32_t i;

	for (i = 0; i < n; i++)
		if (g[i].lock >= v->nlocks && !g[i].sharded)
			return -1;
		else if (global_init(v, &g[i], strings, strings_size))
			return -1;
	return 0;
}

/* --- thread blocks ---------------------------------------------------------------- */

/* Was it free? */
static bool take(struct tl_block *b)
{
	uint32_t free = TL_BLOCK_FREE;

	return *(volatile uint32_t *)&b->state == TL_BLOCK_FREE &&
	       __atomic_compare_exchange_n(
		       &b->state, &free, TL_BLOCK_USED, false, __ATOMIC_ACQ_REL, __ATOMIC_RELAXED);
}

/* One that somebody had before: its memory has been touched. 0: none. */
static uint32_t take_again(struct tl_view *v)
{
	uint32_t *from = &v->session->free_from, i = __atomic_load_n(from, __ATOMIC_RELAXED);
	uint32_t used = tl_blocks_used(v);

	for (i = i ? i : 1; i < used; i++) {
		if (take(tl_block_at(v, i))) {
			__atomic_store_n(from, i + 1, __ATOMIC_RELAXED);
			return i;
		}
	}
	__atomic_store_n(from, used, __ATOMIC_RELAXED);
	return 0;
}

/* One that nobody has had. 0: none. */
static uint32_t take_new(struct tl_view *v)
{
	uint32_t *used = &v->session->blocks_used, i = __atomic_load_n(used, __ATOMIC_RELAXED), n;

	do {
		n = i ? i : 1;
		if (n >= v->nblocks)
			return 0;
		if (__atomic_compare_exchange_n(
			    used, &i, n + 1, false, __ATOMIC_ACQ_REL, __ATOMIC_RELAXED) &&
			take(tl_block_at(v, n)))
			return n;
	} while (true);
}

static void begin_block(struct tl_block *b, uint32_t number, uint32_t tid, uint32_t pid)
{
	b->owner = number + 1;
	b->tid = tid;
	b->pid = pid;
	b->holding = 0;
	tl_time_store(&b->writing, 0);
	memset(tl_block_own(b), 0, sizeof(struct tl_block_own));
	tl_block_own(b)->last_time = tl_cycles();
}

struct tl_block *tl_block_claim(struct tl_view *v, uint32_t tid, uint32_t pid, const char *comm)
{
	uint32_t i = take_again(v), k;
	struct tl_block *b;

	if (!i)
		i = take_new(v);
	if (!i) {
		__atomic_fetch_add(tl_low_word(&v->session->no_block), 1, __ATOMIC_RELAXED);
		return NULL;
	}
	b = tl_block_at(v, i);
	begin_block(b, i, tid, pid);
	for (k = 0; k < sizeof(b->comm) - 1 && comm[k]; k++)
		b->comm[k] = comm[k];
	for (; k < sizeof(b->comm); k++)
		b->comm[k] = 0;
	return b;
}

uint32_t tl_block_index(const struct tl_view *v, const struct tl_block *b)
{
	return (uint32_t)((uintptr_t)((const uint8_t *)b - v->blocks) / v->block_stride);
}

void tl_block_dead(struct tl_view *v, uint32_t index)
{
	struct tl_block *b = tl_block_at(v, index);
	uint32_t i;

	for (i = 0; i < v->nlocks; i++) {
		struct tl_lock *l = (struct tl_lock *)v->locks + i;
		uint32_t owner = index + 1;

		__atomic_compare_exchange_n(
			&l->owner, &owner, 0, false, __ATOMIC_RELEASE, __ATOMIC_RELAXED);
	}
	tl_time_store(&b->writing, 0);
	b->holding = 0;
	__atomic_store_n(&b->state, TL_BLOCK_DEAD, __ATOMIC_RELEASE);
}

void tl_block_recycle(struct tl_view *v, uint32_t index)
{
	uint32_t dead = TL_BLOCK_DEAD;

	if (__atomic_compare_exchange_n(&tl_block_at(v, index)->state, &dead, TL_BLOCK_FREE, false,
		    __ATOMIC_RELEASE, __ATOMIC_RELAXED) &&
		v->session->free_from > index)
		__atomic_store_n(&v->session->free_from, index, __ATOMIC_RELAXED);
}

bool tl_locks_stuck(const struct tl_view *v)
{
	uint32_t i;

	for (i = 0; i < v->nlocks; i++) {
		const struct tl_lock *l = tl_lock_at(v, i);

		if (l->owner && l->owner == l->late)
			return true;
	}
	return false;
}

void tl_locks_break(struct tl_view *v)
{
	uint32_t i;

	for (i = 0; i < v->nlocks; i++)
		__atomic_store_n(&tl_lock_at(v, i)->owner, 0, __ATOMIC_RELEASE);
}

uint64_t tl_session_hits(const struct tl_view *v, uint32_t probe)
{
	uint64_t n = 0, off = tl_hits_at(v, probe);

	if (off + sizeof(n) > (uint64_t)v->shard_off + v->shard_size)
		return 0;
	for (uint32_t i = 1; i < tl_blocks_used(v); i++)
		n += *(volatile uint64_t *)((uint8_t *)tl_block_at(v, i) + off);
	return n;
}

static void time_join(struct tl_time *sum, const struct tl_time *t)
{
	if (!t->runs)
		return;
	if (!sum->runs || t->least < sum->least)
		sum->least = t->least;
	if (t->most > sum->most)
		sum->most = t->most;
	sum->sum += t->sum;
	sum->runs += t->runs;
}

struct tl_time tl_session_times(const struct tl_view *v, uint32_t nprobes, uint32_t probe)
{
	uint64_t off = tl_hits_at(v, nprobes) + (uint64_t)probe * sizeof(struct tl_time);
	struct tl_time sum = {0}, t;

	if (off + sizeof(t) > (uint64_t)v->shard_off + v->shard_size)
		return sum;
	for (uint32_t i = 1; i < tl_blocks_used(v); i++) {
		memcpy(&t, (uint8_t *)tl_block_at(v, i) + off, sizeof(t)); /* shared: once */
		time_join(&sum, &t);
	}
	return sum;
}

void tl_session_totals(const struct tl_view *v, struct tl_totals *t)
{
	uint32_t i;

	memset(t, 0, sizeof(*t));
	for (i = 1; i < tl_blocks_used(v); i++) {
		const struct tl_block *b = tl_block_at(v, i);

		t->lost += tl_cell_load(&b->lost);
		t->skipped += tl_cell_load(&b->skipped);
		t->errors += tl_cell_load(&b->errors);
		t->truncated += tl_cell_load(&b->truncated);
	}
}
