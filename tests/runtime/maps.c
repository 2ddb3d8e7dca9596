/* SPDX-License-Identifier: MIT */
/* Associative arrays, statistics and shards; against simple models, and damaged. */
#include "home.h"

#define AREA  (4u << 20)
#define START 16u /* buckets, where growing is to begin soon */

/* What the compiler does; with so many buckets from the start. */
static struct tl_map map_make_of(
	uint32_t start, const char *types, uint32_t capacity, uint8_t value, struct tl_hist hist)
{
	struct tl_map m = {
		.name = "a", .offset = 64, .capacity = capacity, .value = value, .hist = hist};
	struct tl_tap_global g = {.type = value,
		.capacity = capacity,
		.hist = hist.kind,
		.hist_low = hist.low,
		.hist_high = hist.high,
		.hist_step = hist.step};
	uint32_t off = TL_MAP_LINKS, buckets = 1;

	for (; *types; types++) {
		m.key_off[m.nkeys] = off;
		m.key_types[m.nkeys] = g.key_types[m.nkeys] =
			*types == 'l' ? TL_VALUE_LONG : TL_VALUE_STRING;
		off += *types == 'l' ? 8 : TL_STR_SIZE(TL_MAXSTRING);
		g.nkeys = ++m.nkeys;
	}
	m.one_long = m.nkeys == 1 && m.key_types[0] == TL_VALUE_LONG;
	m.value_off = off;
	off += value == TL_VALUE_LONG	  ? 8
	       : value == TL_VALUE_STRING ? TL_STR_SIZE(TL_MAXSTRING)
					  : TL_STAT_SIZE(hist.buckets);
	m.stride = off;
	while (buckets < capacity)
		buckets *= 2;
	m.most = buckets - 1;
	m.mask = (buckets < start ? buckets : start) - 1;
	m.entries = TL_MAP_HEAD + ((4 * buckets + 7) & ~7u);
	if (tl_global_size(&g, TL_MAXSTRING) != m.entries + (uint64_t)capacity * m.stride)
		printf("# the two computations of a map's size differ\n"), abort();
	return m;
}

static uint32_t area_of(const struct tl_map *m)
{
	return m->offset + m->entries + m->capacity * m->stride;
}

static struct tl_map map_make(
	const char *types, uint32_t capacity, uint8_t value, struct tl_hist hist)
{
	struct tl_map m = map_make_of(TL_MAP_START, types, capacity, value, hist);

	if (area_of(&m) > AREA)
		abort();
	return m;
}
static const struct tl_hist no_hist;

static uint32_t seed = 1;
static uint32_t rnd(void)
{
	seed = seed * 1103515245u + 12345u;
	return seed >> 8;
}

static void longs_as_a_model_says(void)
{
	struct tl_map m = map_make("l", 100, TL_VALUE_LONG, no_hist);
	int64_t model[150] = {0};
	bool there[150] = {false};
	int i, k, count = 0;

	seed = (uint32_t)unit_seed(1);
	home_open(AREA, 64, 0);
	ENTER(run);
	for (i = 0; i < 100000; i++) {
		k = (int)(rnd() % 150);
		switch (rnd() % 4) {
		case 0:
			if (there[k] || count < 100) {
				count += !there[k];
				there[k] = true;
				CHECK(tl_map_add1(&run, &m, k * 1000, 3) == (model[k] += 3));
			} else {
				tl_map_add1(&run, &m, k * 1000, 3);
				CHECK(run.error &&
					!strcmp(run.error,
						"Array overflow, check MAXMAPENTRIES (100 "
						"elements; "
						"-D MAXMAPENTRIES=N sets another limit)"));
				tl_run_catch(&run, NULL);
			}
			break;
		case 1: {
			struct tl_value key[] = {TL_LONG(k * 1000)};

			tl_map_delete(&run, &m, key);
			count -= there[k];
			there[k] = false;
			model[k] = 0;
			break;
		}
		default:
			CHECK(tl_map_get1(&run, &m, k * 1000) == model[k]);
		}
	}
	CHECK(!run.error);
}

static void string_keys_of_all_lengths(void)
{
	struct tl_map m = map_make("sl", 400, TL_VALUE_LONG, no_hist);
	char name[64];
	int i;

	home_open(AREA, 64, 0);
	ENTER(run);
	for (i = 0; i < 40; i++) {
		memset(name, 'k', (size_t)i);
		name[i] = 0;
		struct tl_value key[] = {TL_STR(home_str(name)), TL_LONG(i % 3)};
		tl_map_set(&run, &m, key, i + 1);
	}
	for (i = 0; i < 40; i++) {
		memset(name, 'k', (size_t)i);
		name[i] = 0;
		struct tl_value key[] = {TL_STR(home_str(name)), TL_LONG(i % 3)};
		struct tl_value other[] = {TL_STR(home_str(name)), TL_LONG(i % 3 + 1)};
		CHECK(tl_map_get(&run, &m, key) == i + 1 && tl_map_has(&run, &m, key));
		CHECK(tl_map_get(&run, &m, other) == 0 && !tl_map_has(&run, &m, other));
	}
	tl_map_clear(&run, &m);
	struct tl_value key[] = {TL_STR(home_str("")), TL_LONG(0)};
	CHECK(!tl_map_has(&run, &m, key) && !run.error);
}

static void string_values(void)
{
	struct tl_map m = map_make("l", 4, TL_VALUE_STRING, no_hist);
	struct tl_value key[] = {TL_LONG(-1)};

	home_open(AREA, 64, 0);
	ENTER(run);
	TL_STRING(s);
	tl_map_get_str(&run, &m, key, s);
	CHECK(home_is(s, ""));
	tl_map_set_str(&run, &m, key, home_str("value"));
	tl_map_get_str(&run, &m, key, s);
	CHECK(home_is(s, "value"));
}

static void wrapping_drops_the_oldest(void)
{
	struct tl_map m = map_make("l", 3, TL_VALUE_LONG, no_hist);
	int64_t k;

	m.wrap = 1;
	home_open(AREA, 64, 0);
	ENTER(run);
	for (k = 0; k < 1000; k++) {
		tl_map_set1(&run, &m, k, k);
		CHECK(!run.error && tl_map_get1(&run, &m, k) == k);
		CHECK(k < 3 || tl_map_get1(&run, &m, k - 3) == 0);
		CHECK(k < 2 || tl_map_get1(&run, &m, k - 2) == k - 2);
	}
	m.wrap = 0;
	m.limit = TL_MAP_SIZED;
	tl_map_set1(&run, &m, 5, 5);
	CHECK(run.error && !strcmp(run.error, "Array overflow, check size limit (3)"));
}

static void foreach_orders(void)
{
	struct tl_map m = map_make("l", 500, TL_VALUE_LONG, no_hist);
	struct tl_iter it;
	int64_t i, last;
	int n;

	home_open(AREA, 64, 0);
	ENTER(run);
	for (i = 0; i < 333; i++)
		tl_map_set1(&run, &m, (i * 7919) % 1000 - 500, i % 10);
	n = 0;
	tl_iter_begin(&run, &it, &m, TL_SORT_NONE, 1, TL_COUNT, TL_NO_LIMIT);
	while (tl_iter_next(&it)) {
		CHECK(tl_iter_long(&it, 0) == ((int64_t)n * 7919) % 1000 - 500);
		n++;
	}
	CHECK(n == 333);
	n = 0, last = INT64_MIN;
	tl_iter_begin(&run, &it, &m, TL_SORT_KEY(0), 1, TL_COUNT, TL_NO_LIMIT);
	for (; tl_iter_next(&it); n++, last = tl_iter_long(&it, 0))
		CHECK(tl_iter_long(&it, 0) > last);
	CHECK(n == 333);
	n = 0, last = INT64_MAX;
	tl_iter_begin(&run, &it, &m, TL_SORT_VALUE, -1, TL_COUNT, 20);
	for (; tl_iter_next(&it); n++, last = tl_iter_value(&it))
		CHECK(tl_iter_value(&it) <= last);
	CHECK(n == 20 && last == 9);
	tl_iter_begin(&run, &it, &m, TL_SORT_NONE, 1, TL_COUNT, 0);
	CHECK(!tl_iter_next(&it));
}

static void foreach_by_text_and_statistic(void)
{
	struct tl_map m = map_make("s", 40, TL_VALUE_STATS, no_hist);
	static const char *const names[] = {"b", "abc", "ab", "", "zz", "b0"}, *const sorted[] = {
										       "", "ab",
										       "abc", "b",
										       "b0", "zz"};
	struct tl_iter it;
	int i, j;

	home_open(AREA, 64, 0);
	ENTER(run);
	TL_STRING(s);
	for (i = 0; i < 6; i++)
		for (j = 0; j <= i; j++) {
			struct tl_value key[] = {TL_STR(home_str(names[i]))};
			tl_map_stat_add(&run, &m, key, 100 - i * 10);
		}
	tl_iter_begin(&run, &it, &m, TL_SORT_KEY(0), 1, TL_COUNT, TL_NO_LIMIT);
	for (i = 0; tl_iter_next(&it); i++) {
		tl_iter_str(&it, 0, s);
		CHECK(home_is(s, sorted[i]));
	}
	tl_iter_begin(&run, &it, &m, TL_SORT_VALUE, -1, TL_COUNT, TL_NO_LIMIT);
	CHECK(tl_iter_next(&it) && tl_stat_get(&run, tl_iter_stat(&it), TL_COUNT) == 6);
	tl_iter_begin(&run, &it, &m, TL_SORT_VALUE, -1, TL_AVG, TL_NO_LIMIT);
	CHECK(tl_iter_next(&it) && tl_stat_get(&run, tl_iter_stat(&it), TL_AVG) == 100);
}

static void foreach_while_the_body_deletes(void)
{
	struct tl_map m = map_make("l", 50, TL_VALUE_LONG, no_hist);
	struct tl_iter it;
	int64_t i;
	int n = 0;

	home_open(AREA, 64, 0);
	ENTER(run);
	for (i = 0; i < 50; i++)
		tl_map_set1(&run, &m, i, i);
	tl_iter_begin(&run, &it, &m, TL_SORT_KEY(0), 1, TL_COUNT, TL_NO_LIMIT);
	while (tl_iter_next(&it)) {
		struct tl_value own[] = {TL_LONG(tl_iter_long(&it, 0))},
				later[] = {TL_LONG(own[0].l + 2)};

		tl_map_delete(&run, &m, own);
		tl_map_delete(&run, &m, later);
		n++;
	}
	CHECK(n >= 25 && n <= 50);
	for (i = 0; i < 50; i++)
		tl_map_set1(&run, &m, i, i);
	tl_iter_begin(&run, &it, &m, TL_SORT_NONE, 1, TL_COUNT, TL_NO_LIMIT);
	CHECK(tl_iter_next(&it));
	tl_map_clear(&run, &m);
	CHECK(!tl_iter_next(&it));
}

static const struct tl_map_head *head(const struct tl_map *m)
{
	return (const struct tl_map_head *)(home.globals + m->offset);
}

/* Any order, and no two the same. */
static int64_t nth_key(uint32_t i)
{
	return (int64_t)((uint64_t)i * 0x2545f4914f6cdd1d ^ 0x5555);
}

static uint32_t walk_sorted(struct tl_run *run, const struct tl_map *m)
{
	struct tl_iter it;
	int64_t last = INT64_MIN;
	uint32_t n = 0;

	tl_iter_begin(run, &it, m, TL_SORT_VALUE, 1, TL_COUNT, TL_NO_LIMIT);
	for (; tl_iter_next(&it); n++) {
		if (tl_iter_value(&it) < last)
			return 0;
		last = tl_iter_value(&it);
	}
	return n;
}

/* Every third of n elements goes, all others stay what they are; as many find room again. */
static void delete_some(struct tl_run *run, const struct tl_map *m, uint32_t n)
{
	uint32_t i, wrong = 0;

	for (i = 0; i < n; i += 3) {
		struct tl_value key[] = {TL_LONG(nth_key(i))};

		tl_map_delete(run, m, key);
	}
	for (i = 0; i < n; i++) {
		struct tl_value key[] = {TL_LONG(nth_key(i))};

		wrong += tl_map_has(run, m, key) != (i % 3 != 0);
		wrong += tl_map_get1(run, m, nth_key(i)) != (i % 3 ? i % 1000 : 0);
	}
	for (i = 0; i < n; i += 3)
		tl_map_set1(run, m, nth_key(i), i % 1000);
	CHECK(!wrong && !run->error && head(m)->count == n);
}

static void fill_and_ask(uint32_t capacity, uint32_t n)
{
	struct tl_map m = map_make_of(TL_MAP_START, "l", capacity, TL_VALUE_LONG, no_hist);
	uint32_t i, wrong = 0, buckets = n < TL_MAP_START ? TL_MAP_START : n;

	home_open(area_of(&m), 64, 0);
	ENTER(run);
	for (i = 0; i < n; i++)
		tl_map_set1(&run, &m, nth_key(i), i % 1000);
	CHECK(!run.error && head(&m)->count == n && m.mask + 1 + head(&m)->grown == buckets);
	for (i = 0; i < n; i++)
		wrong += tl_map_get1(&run, &m, nth_key(i)) != i % 1000 ||
			 (i % 7 == 0 && tl_quick_get1(&run, &m, nth_key(i)) != i % 1000 &&
				 !run.error);
	run.error = NULL; /* a quick half may have given up */
	CHECK(!wrong);
	delete_some(&run, &m, n);
	CHECK(walk_sorted(&run, &m) == n);
	tl_map_clear(&run, &m);
	CHECK(!head(&m)->count && !head(&m)->grown && !tl_map_get1(&run, &m, nth_key(0)));
	for (i = 0; i < 3000 && i < capacity; i++)
		tl_map_set1(&run, &m, -(int64_t)i, i);
	for (i = 0; i < 3000 && i < capacity; i++)
		wrong += tl_map_get1(&run, &m, -(int64_t)i) != i;
	CHECK(!wrong && !run.error);
}

static void arrays_grow_with_their_elements(void)
{
	static const uint32_t sizes[] = {1, 2047, 2048, 2049, 4096, 4097, 100000};
	uint32_t i;

	for (i = 0; i < sizeof(sizes) / sizeof(sizes[0]); i++)
		fill_and_ask(1u << 17, sizes[i]);
	fill_and_ask(2049, 2049);
}

static void a_million_elements(void)
{
	fill_and_ask(1u << 20, 1u << 20);
}

/* Nothing is touched but what is in use. */
static void memory_is_used_as_elements_are(void)
{
	struct tl_map m = map_make_of(TL_MAP_START, "l", 1u << 17, TL_VALUE_LONG, no_hist);
	uint8_t *map, *behind_buckets, *behind_entries;
	uint32_t i;

	home_open(area_of(&m), 64, 0);
	map = home.globals + m.offset;
	behind_buckets = map + TL_MAP_HEAD + 4 * 5000;
	behind_entries = map + m.entries + 5000 * m.stride;
	memset(behind_buckets, 0x5a, 4 * (m.most + 1 - 5000));
	memset(behind_entries, 0x5a, (m.capacity - 5000) * m.stride);
	ENTER(run);
	for (i = 0; i < 5000; i++)
		tl_map_set1(&run, &m, nth_key(i), i);
	CHECK(walk_sorted(&run, &m) == 5000);
	tl_map_clear(&run, &m);
	for (i = 0; i < 4 * (m.most + 1 - 5000); i++)
		if (behind_buckets[i] != 0x5a)
			break;
	CHECK(i == 4 * (m.most + 1 - 5000));
	for (i = 0; i < (m.capacity - 5000) * m.stride; i++)
		if (behind_entries[i] != 0x5a)
			break;
	CHECK(i == (m.capacity - 5000) * m.stride);
}

static void growing_by_strings_and_wrapping(void)
{
	struct tl_map m = map_make_of(START, "sl", 3000, TL_VALUE_LONG, no_hist);
	uint32_t i, wrong = 0;
	char name[32];

	m.wrap = 1;
	home_open(area_of(&m), 64, 0);
	ENTER(run);
	for (i = 0; i < 9000; i++) {
		snprintf(name, sizeof(name), "key %u", i);
		struct tl_value key[] = {TL_STR(home_str(name)), TL_LONG(i % 5)};
		tl_map_set(&run, &m, key, i);
	}
	CHECK(!run.error && head(&m)->count == 3000 && m.mask + 1 + head(&m)->grown == 3000);
	for (i = 0; i < 9000; i++) {
		snprintf(name, sizeof(name), "key %u", i);
		struct tl_value key[] = {TL_STR(home_str(name)), TL_LONG(i % 5)};
		wrong += tl_map_get(&run, &m, key) != (i < 6000 ? 0 : i);
	}
	CHECK(!wrong);
}

/* All in one bucket, whatever is split. */
static void growing_with_equal_hashes(void)
{
	struct tl_map m = map_make_of(START, "l", 4096, TL_VALUE_LONG, no_hist);
	int64_t i, wrong = 0;

	home_open(area_of(&m), 64, 0);
	ENTER(run);
	for (i = 0; i < 2000; i++)
		tl_map_set1(&run, &m, (int64_t)((uint64_t)i << 48), i);
	for (i = 0; i < 2000; i++)
		wrong += tl_map_get1(&run, &m, (int64_t)((uint64_t)i << 48)) != i;
	CHECK(!wrong && !run.error && walk_sorted(&run, &m) == 2000);
}

static void an_array_says_which_memory_it_has_filled(void)
{
	struct tl_map m = map_make_of(START, "l", 40, TL_VALUE_LONG, no_hist);
	int64_t i;

	m.limit = TL_MAP_MEMORY;
	home_open(AREA, 64, 0);
	ENTER(run);
	for (i = 0; i < 40; i++)
		tl_map_set1(&run, &m, i, 1);
	CHECK(!run.error);
	tl_map_set1(&run, &m, i, 1);
	CHECK(run.error &&
		!strcmp(run.error, "Array overflow, check MAXMAPENTRIES (40 elements fill "
				   "its memory; -D MAPMEMORY=MIB gives more, up to 960)"));
}

/* Any bytes at all in the shared area: no write outside it, no endless walk. */
static void damaged_maps_hurt_nobody(void)
{
	struct tl_map maps[] = {map_make("l", 20, TL_VALUE_LONG, no_hist),
		map_make("sl", 20, TL_VALUE_STRING, no_hist),
		map_make("l", 20, TL_VALUE_STATS, no_hist),
		map_make_of(4, "l", 20, TL_VALUE_LONG, no_hist),
		map_make_of(2, "ls", 20, TL_VALUE_STATS, no_hist)};
	int round, i, w;

	seed = (uint32_t)unit_seed(1);
	home_open(AREA, 64, 0);
	for (round = 0; round < 10000; round++) {
		struct tl_map *m = &maps[round % 5];
		uint32_t size = m->entries + m->capacity * m->stride,
			 *words = (uint32_t *)(home.globals + m->offset);
		struct tl_iter it;

		m->wrap = (uint8_t)(round & 1);
		memset(words, 0, size);
		memset(home.globals, 0x5a, m->offset);
		memset((uint8_t *)words + size, 0x5a, 256);
		ENTER(run);
		TL_STRING(s);
		for (i = 0; i < 60; i++) {
			struct tl_value key[2] = {{(int64_t)(rnd() % 30), home_str("k")},
				{(int64_t)(rnd() % 30), home_str("l")}};

			for (w = 0; w < 3;
				w++) { /* likely fields: small numbers in the front and in links */
				uint32_t at =
					rnd() % 2 ? rnd() % (size / 4) : rnd() % (m->entries / 4);
				uint32_t v = rnd() % 4 ? rnd() % 24 : rnd() * 65537;

				if (rnd() % 8 == 0)
					at = 6 + rnd() % 2; /* how far it has grown */
				words[at] = v;
			}
			switch (rnd() % 6) {
			case 0:
				tl_map_delete(&run, m, key);
				break;
			case 1:
				tl_iter_begin(&run, &it, m, (int)(rnd() % 3) - 2,
					rnd() % 2 ? 1 : -1, TL_AVG, 100);
				for (w = 0; tl_iter_next(&it); w++)
					if (m->value == TL_VALUE_STRING)
						tl_iter_value_str(&it, s);
				CHECK(w <= 20);
				break;
			default:
				if (m->value == TL_VALUE_LONG)
					tl_map_add(&run, m, key, 1);
				else if (m->value == TL_VALUE_STRING)
					tl_map_set_str(&run, m, key, home_str("v")),
						tl_map_get_str(&run, m, key, s);
				else
					tl_map_stat_add(&run, m, key, 4);
			}
			CHECK(s->len < TL_MAXSTRING);
			run.error = NULL;
		}
		for (i = 0; i < 64; i++)
			CHECK(home.globals[i] == 0x5a);
		for (i = 0; i < 256; i++)
			CHECK(((uint8_t *)words)[size + (uint32_t)i] == 0x5a);
	}
}

static void statistics(void)
{
	static const struct tl_hist h = {.variance = 1, .shift = 10}, rough = {.variance = 1};
	TL_STAT_LOCAL(s, 0);
	int64_t v;

	home_open(AREA, 64, 0);
	ENTER(run);
	tl_stat_clear(s, &h);
	CHECK(tl_stat_get(&run, s, TL_COUNT) == 0 && tl_stat_get(&run, NULL, TL_SUM) == 0 &&
		!run.error);
	tl_stat_get(&run, s, TL_AVG);
	CHECK(run.error && !strcmp(run.error, "empty aggregate"));
	tl_run_catch(&run, NULL);
	for (v = -3; v <= 6; v++)
		tl_stat_add(s, &h, v);
	CHECK(tl_stat_get(&run, s, TL_COUNT) == 10 && tl_stat_get(&run, s, TL_SUM) == 15);
	CHECK(tl_stat_get(&run, s, TL_MIN) == -3 && tl_stat_get(&run, s, TL_MAX) == 6);
	CHECK(tl_stat_get(&run, s, TL_AVG) == 1 && tl_stat_variance(&run, s, &h, true) == 9);
	tl_stat_clear(s, &h);
	tl_stat_add(s, &h, 3000000000);
	tl_stat_add(s, &h, 3000000004);
	CHECK(tl_stat_variance(&run, s, &h, false) == 8);
	tl_stat_clear(s, &h);
	tl_stat_add(s, &h, -3000000000);
	tl_stat_add(s, &h, -3000000004);
	CHECK(tl_stat_variance(&run, s, &h, false) == 8);
	/* the example of stap(1), rounded on the way */
	tl_stat_clear(s, &rough);
	for (v = 1; v <= 5; v++)
		tl_stat_add(s, &rough, v);
	CHECK(tl_stat_variance(&run, s, &rough, true) == 12);
	CHECK(tl_stat_variance(&run, s, &rough, false) == 7);
}

static void shards_sum_set_and_forget(void)
{
	static const struct tl_hist h = {.kind = 1, .buckets = TL_HIST_LOG_BUCKETS};
	struct tl_block *b;
	TL_STAT_LOCAL(s, TL_HIST_LOG_BUCKETS);

	home_open(64, 2048, 0);
	b = tl_block_claim(&home, 2, 1, "other");
	ENTER(run);
	tl_shard_add(&home, b, 8, 5);
	tl_shard_add(&home, run.block, 8, 7);
	CHECK(tl_shard_get(&run, 8) == 12);
	tl_shard_set(&run, 8, -100);
	CHECK(tl_shard_get(&run, 8) == -100);
	tl_shard_add(&home, b, 8, 1);
	CHECK(tl_shard_get(&run, 8) == -99);
	tl_shard_stat_add(&home, b, 64, &h, 10);
	tl_shard_stat_add(&home, run.block, 64, &h, 1000);
	tl_shard_stat_get(&run, 64, &h, s);
	CHECK(s->count == 2 && s->sum == 1010 && s->min == 10 && s->max == 1000 &&
		s->bucket[68] == 1);
	tl_shard_stat_clear(&run, 64);
	tl_shard_stat_get(&run, 64, &h, s);
	CHECK(s->count == 0 && s->bucket[68] == 0);
	tl_shard_stat_add(&home, b, 64, &h, 3);
	tl_shard_stat_get(&run, 64, &h, s);
	CHECK(s->count == 1 && s->min == 3 && s->max == 3 && s->bucket[68] == 0 &&
		s->bucket[66] == 1);
}

static void globals_get_first_values(void)
{
	static const char strings[] = "\0hello";
	struct tl_tap_global g[] = {{.type = TL_VALUE_LONG, .size = 8, .init = -7},
		{.type = TL_VALUE_STRING,
			.offset = 8,
			.size = TL_STR_SIZE(TL_MAXSTRING),
			.init_string = 1},
		{.type = TL_VALUE_LONG, .sharded = 1, .offset = 16, .size = 8, .init = 40}};

	home_open(16384, 64, 0);
	CHECK(tl_session_globals(&home, g, 3, strings, sizeof(strings)) == 0);
	ENTER(run);
	TL_STRING(s);
	tl_global_str_get(&run, 8, s);
	CHECK(*tl_global_long(&run, 0) == -7 && home_is(s, "hello"));
	tl_shard_add(&home, run.block, 16, 2);
	CHECK(tl_shard_get(&run, 16) == 42);
	((struct tl_str *)(home.globals + 8))->len = UINT32_MAX; /* scribbled on */
	tl_global_str_get(&run, 8, s);
	CHECK(s->len < TL_MAXSTRING);
	g[0].offset = home_options.globals_size;
	CHECK(tl_session_globals(&home, g, 1, strings, sizeof(strings)) == -1);
	g[0].offset = 4, g[0].size = 4;
	CHECK(tl_session_globals(&home, g, 1, strings, sizeof(strings)) == -1);
	g[1].init_string = 100;
	CHECK(tl_session_globals(&home, g + 1, 1, strings, sizeof(strings)) == -1);
}

int main(void)
{
	RUN(longs_as_a_model_says);
	RUN(string_keys_of_all_lengths);
	RUN(string_values);
	RUN(wrapping_drops_the_oldest);
	RUN(foreach_orders);
	RUN(foreach_by_text_and_statistic);
	RUN(foreach_while_the_body_deletes);
	RUN(arrays_grow_with_their_elements);
	RUN(a_million_elements);
	RUN(memory_is_used_as_elements_are);
	RUN(growing_by_strings_and_wrapping);
	RUN(growing_with_equal_hashes);
	RUN(an_array_says_which_memory_it_has_filled);
	RUN(damaged_maps_hurt_nobody);
	RUN(statistics);
	RUN(shards_sum_set_and_forget);
	RUN(globals_get_first_values);
	free(home_memory);
	return UNIT_RESULT();
}
