/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/*
 * Maps: associative arrays.
 *
 * The compiler makes one constant of this per array; never shared, so its
 * numbers can be trusted. In the globals area at `offset`:
 *
 *   struct tl_map_head | uint32_t bucket[buckets], padded to 8 | entry[capacity]
 *
 *   entry: 16 bytes of links | keys in order (number 8, string TL_STR_SIZE) | value
 *
 *   buckets   = smallest power of two >= capacity; of them TL_MAP_START at most are in use from the start
 *   key_off[] = from 16 on
 *   value_off = behind the last key
 *   stride    = value_off + 8 (long) / TL_STR_SIZE(TL_MAXSTRING) / TL_STAT_SIZE(hist.buckets)
 *   size      = 32 + ((4 * buckets + 7) & ~7) + capacity * stride
 *
 * tl_global_size() in session.h computes the same from a tl_tap_global.
 * All zero bytes are an empty map, an empty statistic, 0 and "".
 *
 * A large array costs the memory of the elements it has: entries are used from the front, and so are buckets, one more
 * for each element beyond those there are (linear hashing, Litwin 1980). The new one takes its part of one other
 * bucket's, so no handler ever waits while a table is made anew. One of the first buckets is marked when it has been
 * split: so what is in an array that has not grown is found without a look at the head.
 */
#ifndef TRAPLESS_RUNTIME_SCRIPT_MAP_H
#define TRAPLESS_RUNTIME_SCRIPT_MAP_H

#include "stat.h"

#define TL_MAP_HEAD  32u
#define TL_MAP_LINKS 16u
#define TL_MAP_START 2048u
#define TL_MAP_SPLIT 0x80000000u /* in a bucket, beside the number of an entry */
#define TL_MAX_KEYS  16

struct tl_map_head {
	uint32_t count; /* entries in use */
	uint32_t used; /* entries ever used */
	uint32_t free; /* chain of deleted ones */
	uint32_t first, last; /* oldest, newest */
	uint32_t sorts; /* how often the order links were made anew */
	uint32_t grown; /* buckets in use beyond the first mask + 1 */
	uint32_t wide; /* of the hash's bits those that tell them apart, or 0: as at the start */
};

/* Who fills it: what the message of an overflow says. */
enum tl_map_limit {
	TL_MAP_MAXENTRIES, /* -D MAXMAPENTRIES */
	TL_MAP_SIZED, /* declared as name[N] */
	TL_MAP_MEMORY, /* its share of -D MAPMEMORY */
};

struct tl_map {
	const char *name;
	uint32_t offset;
	uint32_t capacity;
	uint32_t mask; /* buckets in use from the start - 1 */
	uint32_t entries; /* offset of entry[0] from `offset` */
	uint32_t stride;
	uint32_t value_off;
	uint8_t nkeys;
	uint8_t value; /* enum tl_tap_value */
	uint8_t wrap;
	uint8_t one_long; /* exactly one key, a number */
	uint8_t key_types[TL_MAX_KEYS];
	uint32_t key_off[TL_MAX_KEYS];
	struct tl_hist hist;
	uint32_t limit; /* enum tl_map_limit */
	uint32_t most; /* buckets - 1 */
};

/* Any keys. get of what is not there: 0, "". set and add may fail (array overflow). */
int64_t tl_map_get(struct tl_run *run, const struct tl_map *m, const struct tl_value *keys);
void tl_map_set(struct tl_run *run, const struct tl_map *m, const struct tl_value *keys, int64_t v);
int64_t tl_map_add(struct tl_run *run, const struct tl_map *m, const struct tl_value *keys,
	int64_t d); /* new value */
void tl_map_get_str(struct tl_run *run, const struct tl_map *m, const struct tl_value *keys,
	struct tl_str *dst);
void tl_map_set_str(struct tl_run *run, const struct tl_map *m, const struct tl_value *keys,
	const struct tl_str *v);
void tl_map_stat_add(struct tl_run *run, const struct tl_map *m, const struct tl_value *keys,
	int64_t v); /* <<< */
struct tl_stat *tl_map_stat(
	struct tl_run *run, const struct tl_map *m, const struct tl_value *keys); /* NULL: none */
bool tl_map_has(struct tl_run *run, const struct tl_map *m, const struct tl_value *keys);
void tl_map_delete(struct tl_run *run, const struct tl_map *m, const struct tl_value *keys);
void tl_map_clear(struct tl_run *run, const struct tl_map *m);

/*
 * One key, a number (m->one_long): the quick ones. Where the key is the first in its bucket, as
 * it nearly always is, nothing is called, and what describes the array is constants of the code.
 */
int64_t tl_map_get1_slow(struct tl_run *run, const struct tl_map *m, int64_t key);
void tl_map_set1_slow(struct tl_run *run, const struct tl_map *m, int64_t key, int64_t v);
int64_t tl_map_add1_slow(struct tl_run *run, const struct tl_map *m, int64_t key, int64_t d);
void tl_map_stat_add1_slow(struct tl_run *run, const struct tl_map *m, int64_t key, int64_t v);

/* The most significant half of the key times 2^64 / phi (Knuth's multiplicative hashing). */
static inline uint32_t tl_map_hash1(int64_t key)
{
	return (uint32_t)(((uint64_t)key * 0x9e3779b97f4a7c15ull) >> 32);
}

/* The bucket of this hash; whatever the head says, there is such a one. */
static inline uint32_t tl_map_bucket(
	const struct tl_map *m, const struct tl_map_head *h, uint32_t hash)
{
	uint32_t n;

	if (m->most == m->mask || !h->wide)
		return hash & m->mask;
	n = hash & h->wide & m->most;
	if (n > m->mask + h->grown)
		n &= h->wide >> 1; /* that one is not in use yet */
	return n;
}

/* The first entry in the bucket of this hash, from 0; what is no entry is no smaller than the array's capacity. */
static TL_QUICK uint32_t tl_map_front(const struct tl_map *m, const uint8_t *map, uint32_t hash)
{
	const uint32_t *buckets = (const uint32_t *)(map + TL_MAP_HEAD);
	uint32_t n = buckets[hash & m->mask];

	if (m->most != m->mask && tl_unlikely(n & TL_MAP_SPLIT))
		n = buckets[tl_map_bucket(m, (const struct tl_map_head *)map, hash)] &
		    ~TL_MAP_SPLIT;
	return n - 1;
}

/* The value of the first entry in the key's bucket, NULL where that has another key. */
static inline void *tl_map_first1(const struct tl_run *run, const struct tl_map *m, int64_t key)
{
	uint8_t *map = run->view->globals + m->offset, *e;
	uint32_t n = tl_map_front(m, map, tl_map_hash1(key));

	if (tl_unlikely(n >= m->capacity))
		return NULL;
	e = map + m->entries + (uint64_t)n * m->stride;
	return tl_likely(*(int64_t *)(e + TL_MAP_LINKS) == key) ? e + m->value_off : NULL;
}

static inline int64_t tl_map_get1(struct tl_run *run, const struct tl_map *m, int64_t key)
{
	const int64_t *v = tl_map_first1(run, m, key);

	return tl_likely(v) ? *v : tl_map_get1_slow(run, m, key);
}

static inline void tl_map_set1(struct tl_run *run, const struct tl_map *m, int64_t key, int64_t x)
{
	int64_t *v = tl_map_first1(run, m, key);

	if (tl_likely(v))
		*v = x;
	else
		tl_map_set1_slow(run, m, key, x);
}

static inline int64_t tl_map_add1(
	struct tl_run *run, const struct tl_map *m, int64_t key, int64_t d)
{
	int64_t *v = tl_map_first1(run, m, key);

	return tl_likely(v) ? (*v = tl_add(*v, d)) : tl_map_add1_slow(run, m, key, d);
}

static inline void tl_map_stat_add1(
	struct tl_run *run, const struct tl_map *m, int64_t key, int64_t x)
{
	struct tl_stat *s = tl_map_first1(run, m, key);

	if (tl_likely(s))
		tl_stat_add(s, &m->hist, x);
	else
		tl_map_stat_add1_slow(run, m, key, x);
}

/* The same for quick halves: the first or the second in its bucket. */
static TL_QUICK void *tl_quick_find1(struct tl_run *run, const struct tl_map *m, int64_t key)
{
	uint8_t *map = run->view->globals + m->offset, *e;
	uint32_t n = tl_map_front(m, map, tl_map_hash1(key));

	if (tl_unlikely(n >= m->capacity))
		return tl_run_again(run), NULL;
	e = map + m->entries + (uint64_t)n * m->stride;
	if (tl_likely(*(int64_t *)(e + TL_MAP_LINKS) == key))
		return e + m->value_off;
	n = *(uint32_t *)e - 1;
	if (tl_unlikely(n >= m->capacity))
		return tl_run_again(run), NULL;
	e = map + m->entries + (uint64_t)n * m->stride;
	if (tl_likely(*(int64_t *)(e + TL_MAP_LINKS) == key))
		return e + m->value_off;
	return tl_run_again(run), NULL;
}

static TL_QUICK int64_t tl_quick_get1(struct tl_run *run, const struct tl_map *m, int64_t key)
{
	const int64_t *v = tl_quick_find1(run, m, key);

	return tl_likely(v) ? *v : 0;
}

static TL_QUICK void tl_quick_set1(
	struct tl_run *run, const struct tl_map *m, int64_t key, int64_t x)
{
	int64_t *v = tl_quick_find1(run, m, key);

	if (tl_likely(v))
		*v = x;
}

static TL_QUICK int64_t tl_quick_add1(
	struct tl_run *run, const struct tl_map *m, int64_t key, int64_t d)
{
	int64_t *v = tl_quick_find1(run, m, key);

	return tl_likely(v) ? (*v = tl_add(*v, d)) : 0;
}

static TL_QUICK void tl_quick_stat_add1(
	struct tl_run *run, const struct tl_map *m, int64_t key, int64_t x)
{
	struct tl_stat *s = tl_quick_find1(run, m, key);

	if (tl_likely(s))
		tl_stat_add(s, &m->hist, x);
}

/*
 * foreach. Order: unsorted, in order of insertion, or as the array was sorted
 * last; else by key n or by value (for statistics by `op`). The body may change the map: entries that are
 * deleted meanwhile are left out; nothing worse happens. It may also walk the
 * same array in another order.
 *
 *   struct tl_iter it;
 *   tl_iter_begin(&run, &it, &map, TL_SORT_KEY(0), -1, TL_COUNT, limit);
 *   while (tl_iter_next(&it)) { k = tl_iter_long(&it, 0); ... }
 */
#define TL_SORT_NONE   (-1)
#define TL_SORT_VALUE  (-2)
#define TL_SORT_KEY(n) (n)
#define TL_NO_LIMIT    INT64_MAX

struct tl_iter {
	struct tl_run *run;
	const struct tl_map *map;
	uint8_t *entry; /* current one */
	int64_t limit;
	uint32_t next; /* number of the coming one, 0: end */
	uint32_t steps; /* bound against damaged links */
	uint32_t turn; /* the array's latest sort is this one's, unless another followed */
	int8_t sort, direction;
	uint8_t op;
};
/* direction: 1 ascending, -1 descending. */
void tl_iter_begin(struct tl_run *run, struct tl_iter *it, const struct tl_map *m, int sort,
	int direction, enum tl_stat_op op, int64_t limit);
bool tl_iter_next(struct tl_iter *it);
int64_t tl_iter_long(const struct tl_iter *it, uint32_t key);
void tl_iter_str(const struct tl_iter *it, uint32_t key, struct tl_str *dst);
int64_t tl_iter_value(const struct tl_iter *it);
void tl_iter_value_str(const struct tl_iter *it, struct tl_str *dst);
struct tl_stat *tl_iter_stat(const struct tl_iter *it);

#endif
