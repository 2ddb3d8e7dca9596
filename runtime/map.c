/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/*
 * Associative arrays in shared memory. Entries are found by a chained hash
 * table, which grows with them (script.h), and stand in a list: in order of insertion, or as they were sorted last. All links are entry numbers
 * (from 1; 0: none) that anybody may have scribbled on: each is checked before
 * use and each walk is bounded, so that damage loses entries, no more.
 *
 * Context: the global's lock is held.
 */
#include "internal.h"

_Static_assert(sizeof(struct tl_map_head) == TL_MAP_HEAD, "wire");

struct entry {
	uint32_t next; /* in its bucket, or in the free chain */
	uint32_t older; /* FREED: not in use */
	uint32_t newer;
	uint32_t order; /* foreach's own list */
};
_Static_assert(sizeof(struct entry) == TL_MAP_LINKS, "wire");
#define FREED 0xffffffffu

#define MIX 0x9e3779b97f4a7c15ull

static inline struct tl_map_head *head_of(const struct tl_run *run, const struct tl_map *m)
{
	return (struct tl_map_head *)(run->view->globals + m->offset);
}

static inline uint32_t *bucket_of(const struct tl_run *run, const struct tl_map *m, uint32_t hash)
{
	struct tl_map_head *h = head_of(run, m);

	return (uint32_t *)(h + 1) + tl_map_bucket(m, h, hash);
}

/* Entry number n, or NULL when there is no such entry. */
static inline struct entry *entry_at(const struct tl_run *run, const struct tl_map *m, uint32_t n)
{
	if (tl_unlikely(n - 1 >= m->capacity))
		return NULL;
	return (struct entry *)(run->view->globals + m->offset + m->entries +
				(uint64_t)(n - 1) * m->stride);
}

static inline uint8_t *value_of(const struct tl_map *m, struct entry *e)
{
	return (uint8_t *)e + m->value_off;
}

/* --- hashing --------------------------------------------------------------------- */

static uint64_t hash_bytes(uint64_t h, const char *p, uint32_t n)
{
	uint64_t last = 0;

	h ^= n * MIX;
	for (; n >= 8; n -= 8, p += 8) {
		h = (h ^ tl_get64(p)) * MIX;
		h ^= h >> 32;
	}
	if (n & 4) {
		last = tl_get32(p);
		p += 4;
	}
	if (n & 2) {
		last = last << 16 | (uint64_t)(unsigned char)p[0] << 8 | (unsigned char)p[1];
		p += 2;
	}
	if (n & 1)
		last = last << 8 | (unsigned char)*p;
	return (h ^ last) * MIX;
}

static uint32_t key_len(const struct tl_run *run, const struct tl_str *s)
{
	return s->len < tl_max_len(run) ? s->len : tl_max_len(run);
}

static uint32_t hash_keys(
	const struct tl_run *run, const struct tl_map *m, const struct tl_value *keys)
{
	uint64_t h = 0;
	uint32_t i;

	if (m->one_long)
		return tl_map_hash1(keys[0].l);
	for (i = 0; i < m->nkeys; i++) {
		if (m->key_types[i] == TL_VALUE_LONG)
			h = (h ^ (uint64_t)keys[i].l) * MIX;
		else
			h = hash_bytes(h, keys[i].s->b, key_len(run, keys[i].s));
		h ^= h >> 32;
	}
	return (uint32_t)h;
}

/* The keys of an entry, hashed the same way; for eviction. */
static uint32_t hash_entry(const struct tl_run *run, const struct tl_map *m, const struct entry *e)
{
	uint64_t h = 0;
	uint32_t i;

	if (m->one_long)
		return tl_map_hash1((int64_t)tl_get64((const uint8_t *)e + TL_MAP_LINKS));
	for (i = 0; i < m->nkeys; i++) {
		const uint8_t *k = (const uint8_t *)e + m->key_off[i];

		if (m->key_types[i] == TL_VALUE_LONG)
			h = (h ^ tl_get64(k)) * MIX;
		else
			h = hash_bytes(h, ((const struct tl_str *)k)->b,
				tl_str_shared_len(run, (const struct tl_str *)k));
		h ^= h >> 32;
	}
	return (uint32_t)h;
}

/* --- finding ------------------------------------------------------------------------ */

static bool keys_equal(const struct tl_run *run, const struct tl_map *m, const struct entry *e,
	const struct tl_value *keys)
{
	uint32_t i, n;

	for (i = 0; i < m->nkeys; i++) {
		const uint8_t *k = (const uint8_t *)e + m->key_off[i];
		const struct tl_str *s = (const struct tl_str *)k;

		if (m->key_types[i] == TL_VALUE_LONG) {
			if (*(const int64_t *)k != keys[i].l)
				return false;
			continue;
		}
		n = key_len(run, keys[i].s);
		if (s->len != n || memcmp(s->b, keys[i].s->b, n))
			return false;
	}
	return true;
}

static struct entry *find1(
	const struct tl_run *run, const struct tl_map *m, int64_t key, uint32_t hash)
{
	uint32_t n = *bucket_of(run, m, hash) & ~TL_MAP_SPLIT, steps = m->capacity;
	struct entry *e;

	while (n && (e = entry_at(run, m, n)) && steps--) {
		if (tl_likely(*(int64_t *)(e + 1) == key))
			return e;
		n = e->next;
	}
	return NULL;
}

static struct entry *find(const struct tl_run *run, const struct tl_map *m,
	const struct tl_value *keys, uint32_t hash)
{
	uint32_t n, steps = m->capacity;
	struct entry *e;

	if (m->one_long)
		return find1(run, m, keys[0].l, hash);
	n = *bucket_of(run, m, hash) & ~TL_MAP_SPLIT;
	while (n && (e = entry_at(run, m, n)) && steps--) {
		if (keys_equal(run, m, e, keys))
			return e;
		n = e->next;
	}
	return NULL;
}

/* --- taking out, finding room ----------------------------------------------------------- */

static void unchain(struct tl_run *run, const struct tl_map *m, uint32_t number, uint32_t hash)
{
	uint32_t *link = bucket_of(run, m, hash), steps = m->capacity, n, mark;
	struct entry *e;

	while ((n = *link & ~TL_MAP_SPLIT) != number && (e = entry_at(run, m, n)) && steps--)
		link = &e->next;
	e = entry_at(run, m, number);
	mark = *link & TL_MAP_SPLIT;
	if (n == number)
		*link = e->next | mark;
}

static void unlist(struct tl_run *run, const struct tl_map *m, struct entry *e)
{
	struct tl_map_head *h = head_of(run, m);
	struct entry *older = entry_at(run, m, e->older), *newer = entry_at(run, m, e->newer);

	if (older)
		older->newer = e->newer;
	else
		h->first = e->newer;
	if (newer)
		newer->older = e->older;
	else
		h->last = e->older;
}

static void take_out(struct tl_run *run, const struct tl_map *m, uint32_t number, uint32_t hash)
{
	struct tl_map_head *h = head_of(run, m);
	struct entry *e = entry_at(run, m, number);

	unchain(run, m, number, hash);
	unlist(run, m, e);
	e->older = FREED;
	e->next = h->free;
	h->free = number;
	h->count--;
}

/* In SystemTap's words as far as it has them. */
static void overflow(struct tl_run *run, const struct tl_map *m)
{
	static const char *const words[] = {
		[TL_MAP_MAXENTRIES] = "Array overflow, check MAXMAPENTRIES (%d elements; -D "
				      "MAXMAPENTRIES=N sets another limit)",
		[TL_MAP_SIZED] = "Array overflow, check size limit (%d)",
		[TL_MAP_MEMORY] = "Array overflow, check MAXMAPENTRIES (%d elements fill its "
				  "memory; -D MAPMEMORY=MIB gives more, up to 960)",
	};

	tl_run_error(run, words[m->limit <= TL_MAP_MEMORY ? m->limit : 0], (int64_t)m->capacity);
}

/* Number of an unused entry, 0: none (error raised). */
static uint32_t fresh(struct tl_run *run, const struct tl_map *m)
{
	struct tl_map_head *h = head_of(run, m);
	struct entry *e = entry_at(run, m, h->free);
	uint32_t n = *(volatile uint32_t *)&h->first; /* once: checked, then used */

	if (!e && h->used < m->capacity)
		return ++h->used;
	if (!e && m->wrap && (e = entry_at(run, m, n)) != NULL) {
		take_out(run, m, n, hash_entry(run, m, e));
		e = entry_at(run, m, h->free);
	}
	if (e) {
		n = h->free;
		h->free = e->next;
		return n;
	}
	overflow(run, m);
	return 0;
}

static void value_clear(const struct tl_map *m, struct entry *e)
{
	uint8_t *v = value_of(m, e);

	if (m->value == TL_VALUE_LONG)
		*(int64_t *)v = 0;
	else if (m->value == TL_VALUE_STATS)
		memset(v, 0, TL_STAT_SIZE(m->hist.buckets));
	else
		*(uint64_t *)v = 0;
}

/* --- growing ------------------------------------------------------------------------ */

static uint32_t buckets_used(const struct tl_map *m, const struct tl_map_head *h)
{
	uint32_t grown = *(const volatile uint32_t *)&h->grown, most = m->most - m->mask;

	return m->mask + 1 + (grown < most ? grown : most);
}

/* Those of the chain at `from` whose hash has these bits go to the new bucket. */
static void split_chain(struct tl_run *run, const struct tl_map *m, uint32_t *from, uint32_t *to,
	uint32_t wide, uint32_t bits)
{
	uint32_t number, steps = m->capacity;
	struct entry *e;

	*from &= ~TL_MAP_SPLIT;
	while ((e = entry_at(run, m, number = *(volatile uint32_t *)from)) && steps--) {
		if ((hash_entry(run, m, e) & wide) == bits) {
			*from = e->next;
			*to = number;
			to = &e->next;
		} else {
			from = &e->next;
		}
	}
	*to = 0;
}

/* One bucket more, if there is one. */
static __attribute__((__noinline__)) void split_next(struct tl_run *run, const struct tl_map *m)
{
	struct tl_map_head *h = head_of(run, m);
	uint32_t *buckets = (uint32_t *)(h + 1);
	uint32_t n = buckets_used(m, h), half;

	if (n > m->most)
		return;
	half = 1u << (31 - __builtin_clz(n));
	split_chain(run, m, buckets + (n - half), buckets + n, 2 * half - 1, n);
	if (n - half <= m->mask)
		buckets[n - half] |= TL_MAP_SPLIT;
	h->grown = n - m->mask;
	h->wide = 2 * half - 1;
}

/* --- putting in ------------------------------------------------------------------------ */

/* Last step of insertion: only now others can find it. */
static void put_in(
	struct tl_run *run, const struct tl_map *m, uint32_t number, struct entry *e, uint32_t hash)
{
	struct tl_map_head *h = head_of(run, m);
	uint32_t *bucket = bucket_of(run, m, hash);
	struct entry *last = entry_at(run, m, h->last);

	value_clear(m, e);
	e->older = last ? h->last : 0;
	e->newer = 0;
	e->order = 0;
	e->next = *bucket & ~TL_MAP_SPLIT;
	*bucket = number | (*bucket & TL_MAP_SPLIT);
	if (last)
		last->newer = number;
	else
		h->first = number;
	h->last = number;
	if (tl_unlikely(++h->count > m->mask + 1) && h->count > buckets_used(m, h))
		split_next(run, m);
}

static __attribute__((__noinline__)) struct entry *make1(
	struct tl_run *run, const struct tl_map *m, int64_t key, uint32_t hash)
{
	uint32_t n = fresh(run, m);
	struct entry *e = entry_at(run, m, n);

	if (!e)
		return NULL;
	*(int64_t *)(e + 1) = key;
	put_in(run, m, n, e, hash);
	return e;
}

static __attribute__((__noinline__)) struct entry *make(
	struct tl_run *run, const struct tl_map *m, const struct tl_value *keys, uint32_t hash)
{
	uint32_t i, n = fresh(run, m);
	struct entry *e = entry_at(run, m, n);

	if (!e)
		return NULL;
	for (i = 0; i < m->nkeys; i++) {
		uint8_t *k = (uint8_t *)e + m->key_off[i];

		if (m->key_types[i] == TL_VALUE_LONG)
			*(int64_t *)k = keys[i].l;
		else
			tl_str_store(run, (struct tl_str *)k, keys[i].s);
	}
	put_in(run, m, n, e, hash);
	return e;
}

/* --- the script's operations ------------------------------------------------------------ */

static inline struct entry *want1(struct tl_run *run, const struct tl_map *m, int64_t key)
{
	uint32_t hash = tl_map_hash1(key);
	struct entry *e = find1(run, m, key, hash);

	if (tl_unlikely(!e))
		e = make1(run, m, key, hash);
	return e;
}

static struct entry *want(struct tl_run *run, const struct tl_map *m, const struct tl_value *keys)
{
	uint32_t hash = hash_keys(run, m, keys);
	struct entry *e = find(run, m, keys, hash);

	return e ? e : make(run, m, keys, hash);
}

static struct entry *look(
	const struct tl_run *run, const struct tl_map *m, const struct tl_value *keys)
{
	return find(run, m, keys, hash_keys(run, m, keys));
}

int64_t tl_map_get1_slow(struct tl_run *run, const struct tl_map *m, int64_t key)
{
	struct entry *e = find1(run, m, key, tl_map_hash1(key));

	return e ? *(int64_t *)value_of(m, e) : 0;
}

void tl_map_set1_slow(struct tl_run *run, const struct tl_map *m, int64_t key, int64_t v)
{
	struct entry *e = want1(run, m, key);

	if (e)
		*(int64_t *)value_of(m, e) = v;
}

int64_t tl_map_add1_slow(struct tl_run *run, const struct tl_map *m, int64_t key, int64_t d)
{
	struct entry *e = want1(run, m, key);
	int64_t *v;

	if (!e)
		return 0;
	v = (int64_t *)value_of(m, e);
	return *v = tl_add(*v, d);
}

void tl_map_stat_add1_slow(struct tl_run *run, const struct tl_map *m, int64_t key, int64_t v)
{
	struct entry *e = want1(run, m, key);

	if (e)
		tl_stat_add((struct tl_stat *)value_of(m, e), &m->hist, v);
}

int64_t tl_map_get(struct tl_run *run, const struct tl_map *m, const struct tl_value *keys)
{
	struct entry *e = look(run, m, keys);

	return e ? *(int64_t *)value_of(m, e) : 0;
}

void tl_map_set(struct tl_run *run, const struct tl_map *m, const struct tl_value *keys, int64_t v)
{
	struct entry *e = want(run, m, keys);

	if (e)
		*(int64_t *)value_of(m, e) = v;
}

int64_t tl_map_add(
	struct tl_run *run, const struct tl_map *m, const struct tl_value *keys, int64_t d)
{
	struct entry *e = want(run, m, keys);
	int64_t *v;

	if (!e)
		return 0;
	v = (int64_t *)value_of(m, e);
	return *v = tl_add(*v, d);
}

void tl_map_get_str(
	struct tl_run *run, const struct tl_map *m, const struct tl_value *keys, struct tl_str *dst)
{
	struct entry *e = look(run, m, keys);

	if (e)
		tl_str_take(run, dst, (const struct tl_str *)value_of(m, e));
	else
		tl_str_put(run, dst, "", 0);
}

void tl_map_set_str(struct tl_run *run, const struct tl_map *m, const struct tl_value *keys,
	const struct tl_str *v)
{
	struct entry *e = want(run, m, keys);

	if (e)
		tl_str_store(run, (struct tl_str *)value_of(m, e), v);
}

void tl_map_stat_add(
	struct tl_run *run, const struct tl_map *m, const struct tl_value *keys, int64_t v)
{
	struct entry *e = want(run, m, keys);

	if (e)
		tl_stat_add((struct tl_stat *)value_of(m, e), &m->hist, v);
}

struct tl_stat *tl_map_stat(struct tl_run *run, const struct tl_map *m, const struct tl_value *keys)
{
	struct entry *e = look(run, m, keys);

	return e ? (struct tl_stat *)value_of(m, e) : NULL;
}

bool tl_map_has(struct tl_run *run, const struct tl_map *m, const struct tl_value *keys)
{
	return look(run, m, keys) != NULL;
}

static uint32_t number_of(const struct tl_run *run, const struct tl_map *m, const struct entry *e)
{
	return (uint32_t)((uintptr_t)((const uint8_t *)e -
				      (run->view->globals + m->offset + m->entries)) /
			  m->stride) +
	       1;
}

void tl_map_delete(struct tl_run *run, const struct tl_map *m, const struct tl_value *keys)
{
	uint32_t hash = hash_keys(run, m, keys);
	struct entry *e = find(run, m, keys, hash);

	if (e)
		take_out(run, m, number_of(run, m, e), hash);
}

void tl_map_clear(struct tl_run *run, const struct tl_map *m)
{
	struct tl_map_head *h = head_of(run, m);
	uint32_t i, used = h->used < m->capacity ? h->used : m->capacity;

	for (i = 1; i <= used; i++)
		entry_at(run, m, i)->older = FREED;
	memset(run->view->globals + m->offset + TL_MAP_HEAD, 0, 4ull * (m->mask + 1ull));
	memset(h, 0, sizeof(*h));
}

/* --- foreach ------------------------------------------------------------------------------- */

struct sorter {
	struct tl_run *run;
	const struct tl_map *m;
	int key; /* or TL_SORT_VALUE */
	int direction;
	enum tl_stat_op op;
};

static int64_t stat_rank(const struct tl_stat *s, enum tl_stat_op op)
{
	int64_t count = (int64_t)tl_cell_load(&s->count);

	switch (op) {
	case TL_SUM:
		return s->sum;
	case TL_MIN:
		return s->min;
	case TL_MAX:
		return s->max;
	case TL_AVG:
		return count > 0 ? tl_div_any(s->sum, count) : 0;
	default:
		return count;
	}
}

static int compare_longs(int64_t a, int64_t b)
{
	return a < b ? -1 : a > b;
}

static int compare_strings(const struct tl_run *run, const struct tl_str *a, const struct tl_str *b)
{
	uint32_t na = tl_str_shared_len(run, a), nb = tl_str_shared_len(run, b);
	int c = memcmp(a->b, b->b, na < nb ? na : nb);

	return c ? c : compare_longs(na, nb);
}

static int compare(const struct sorter *s, struct entry *a, struct entry *b)
{
	uint32_t off = s->key >= 0 ? s->m->key_off[s->key] : s->m->value_off;
	uint8_t type = s->key >= 0 ? s->m->key_types[s->key] : s->m->value;
	const uint8_t *x = (const uint8_t *)a + off, *y = (const uint8_t *)b + off;
	int c;

	if (type == TL_VALUE_LONG)
		c = compare_longs(*(const int64_t *)x, *(const int64_t *)y);
	else if (type == TL_VALUE_STRING)
		c = compare_strings(s->run, (const struct tl_str *)x, (const struct tl_str *)y);
	else
		c = compare_longs(stat_rank((const struct tl_stat *)x, s->op),
			stat_rank((const struct tl_stat *)y, s->op));
	return c * s->direction;
}

/* Copy the list of insertion into the order links; returns its length. */
static uint32_t order_init(struct tl_run *run, const struct tl_map *m, uint32_t *first)
{
	uint32_t n = 0;
	struct entry *e;

	*first = head_of(run, m)->first;
	e = entry_at(run, m, *first);
	if (!e)
		*first = 0;
	while (e && ++n < m->capacity) {
		struct entry *newer = entry_at(run, m, e->newer);

		e->order = newer ? e->newer : 0;
		e = newer;
	}
	if (e)
		e->order = 0;
	return n;
}

/* Take one from the front of a run into the list that *tail ends. */
static void move_one(struct sorter *s, uint32_t *from, uint32_t *len, uint32_t **tail)
{
	struct entry *e = entry_at(s->run, s->m, *from);

	**tail = *from;
	*from = e->order;
	*tail = &e->order;
	--*len;
}

/* Merge neighbouring runs of `width`; returns their number, or 0 when the links are damaged. */
static uint32_t merge_pass(struct sorter *s, uint32_t *first, uint32_t width, uint32_t total)
{
	uint32_t p = *first, q, np, nq, merges = 0, left = total, *tail = first;

	while (p && left) {
		merges++;
		for (q = p, np = 0; np < width && q; np++) {
			struct entry *e = entry_at(s->run, s->m, q);

			if (!e)
				return 0;
			q = e->order;
		}
		nq = width;
		while (np || (nq && q)) {
			struct entry *a = np ? entry_at(s->run, s->m, p) : NULL;
			struct entry *b = nq && q ? entry_at(s->run, s->m, q) : NULL;

			if ((np && !a) || (nq && q && !b) || !left--)
				return 0;
			if (!b || (a && compare(s, a, b) <= 0))
				move_one(s, &p, &np, &tail);
			else
				move_one(s, &q, &nq, &tail);
		}
		p = q;
	}
	*tail = 0;
	return merges;
}

/* Bottom-up merge sort of the order list: stable, no memory. */
static uint32_t order_sort(struct sorter *s)
{
	uint32_t first, width = 1, n = order_init(s->run, s->m, &first);

	while (width < n && merge_pass(s, &first, width, n) > 1)
		width *= 2;
	return first;
}

/*
 * The first `few` by insertion: each entry goes in front of the first of them
 * that must stand behind it. The others keep their order.
 */
static uint32_t order_few(struct sorter *s, uint32_t few)
{
	uint32_t first, k, number, seen = 1, left = order_init(s->run, s->m, &first), *at, *to;
	struct entry *a = entry_at(s->run, s->m, first), *b;

	if (!a)
		return first;
	for (at = &a->order; left > 1 && (a = entry_at(s->run, s->m, *at)); left--, seen++) {
		number = *at;
		b = NULL;
		for (k = 0, to = &first; k < few && k < seen; k++, to = &b->order)
			if (!(b = entry_at(s->run, s->m, *to)) || compare(s, b, a) > 0)
				break;
		if (!b || k == few || k == seen) {
			at = &a->order;
			continue;
		}
		*at = a->order;
		a->order = *to;
		*to = number;
	}
	return first;
}

/* The order that was made is the array's own from now on: what is equal next time stands as now. */
static void order_keep(struct tl_run *run, const struct tl_map *m, uint32_t first)
{
	struct tl_map_head *h = head_of(run, m);
	uint32_t n = first, older = 0, steps = m->capacity;
	struct entry *e;

	h->first = first;
	for (; steps && (e = entry_at(run, m, n)); steps--) {
		e->older = older;
		e->newer = e->order;
		older = n;
		n = e->order;
	}
	h->last = older;
}

/* SystemTap sorts so many by themselves. */
#define FEW_MAX 30

/*
 * Make the order links anew; returns the first entry. SystemTap's own arrays stay
 * as they were sorted (its statistics are gathered anew for each walk, and do not).
 */
static uint32_t iter_sort(struct tl_iter *it, int64_t limit)
{
	struct sorter s = {it->run, it->map, it->sort, it->direction, (enum tl_stat_op)it->op};
	uint32_t first;

	it->turn = ++head_of(it->run, it->map)->sorts;
	first = limit > 0 && limit <= FEW_MAX ? order_few(&s, (uint32_t)limit) : order_sort(&s);
	if (it->map->value != TL_VALUE_STATS)
		order_keep(it->run, it->map, first);
	return first;
}

void tl_iter_begin(struct tl_run *run, struct tl_iter *it, const struct tl_map *m, int sort,
	int direction, enum tl_stat_op op, int64_t limit)
{
	it->run = run;
	it->map = m;
	it->entry = NULL;
	it->limit = limit;
	it->steps = m->capacity;
	it->sort = (int8_t)(sort < m->nkeys ? sort : TL_SORT_VALUE);
	if (limit <= 0)
		it->sort = TL_SORT_NONE; /* nothing is looked at, nothing is sorted */
	it->direction = direction < 0 ? -1 : 1;
	it->op = (uint8_t)op;
	it->next = it->sort == TL_SORT_NONE ? head_of(run, m)->first : iter_sort(it, limit);
}

bool tl_iter_next(struct tl_iter *it)
{
	bool sorted = it->sort != TL_SORT_NONE;
	struct entry *e;

	if (sorted && it->turn != head_of(it->run, it->map)->sorts)
		iter_sort(it, TL_NO_LIMIT); /* the body sorted the array in its own way */
	do {
		if (it->limit <= 0 || !it->steps || !(e = entry_at(it->run, it->map, it->next)))
			return false;
		it->steps--;
		it->next = sorted ? e->order : e->newer;
	} while (e->older == FREED); /* deleted by the body */
	it->limit--;
	it->entry = (uint8_t *)e;
	return true;
}

int64_t tl_iter_long(const struct tl_iter *it, uint32_t key)
{
	return *(int64_t *)(it->entry + it->map->key_off[key]);
}

void tl_iter_str(const struct tl_iter *it, uint32_t key, struct tl_str *dst)
{
	tl_str_take(it->run, dst, (const struct tl_str *)(it->entry + it->map->key_off[key]));
}

int64_t tl_iter_value(const struct tl_iter *it)
{
	return *(int64_t *)(it->entry + it->map->value_off);
}

void tl_iter_value_str(const struct tl_iter *it, struct tl_str *dst)
{
	tl_str_take(it->run, dst, (const struct tl_str *)(it->entry + it->map->value_off));
}

struct tl_stat *tl_iter_stat(const struct tl_iter *it)
{
	return (struct tl_stat *)(it->entry + it->map->value_off);
}
