/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/* Statistics: what <<< keeps, and shards of it and of longs. */
#include "internal.h"

static uint32_t bucket_log(int64_t v)
{
	if (!v)
		return 64;
	return v > 0 ? 64 + tl_bits((uint64_t)v) : 64 - tl_bits(0 - (uint64_t)v);
}

static uint32_t bucket_linear(const struct tl_hist *h, int64_t v)
{
	uint64_t n, rem;

	if (v < h->low)
		return 0;
	n = (uint64_t)v - (uint64_t)h->low;
#if UINTPTR_MAX > 0xffffffffu
	rem = 0;
	n = n / (uint64_t)h->step;
#else
	n = tl_udiv(n, (uint64_t)h->step, &rem);
#endif
	(void)rem;
	return n >= h->buckets - 2 ? h->buckets - 1 : (uint32_t)n + 1;
}

/* Welford's step; the sample is counted already. */
static void variance_add(struct tl_stat *s, uint32_t shift, int64_t v)
{
	int64_t scaled = tl_shl(v, shift), delta;

	if (s->count == 1) {
		s->mean = scaled;
		s->spread = 0;
		return;
	}
	delta = tl_sub(scaled, s->mean);
	s->mean = tl_add(s->mean, tl_div_any(delta, s->count));
	s->spread = tl_add(s->spread, tl_mul(delta, tl_sub(scaled, s->mean)));
}

void tl_stat_add_more(struct tl_stat *s, const struct tl_hist *h, int64_t v)
{
	int64_t *bucket = NULL;

	if (h->kind == 1)
		bucket = &s->bucket[bucket_log(v)];
	else if (h->kind == 2)
		bucket = &s->bucket[bucket_linear(h, v)];
	if (bucket)
		*bucket = tl_add(*bucket, 1);
	if (h->variance)
		variance_add(s, h->shift, v);
}

void tl_stat_clear(struct tl_stat *s, const struct tl_hist *h)
{
	uint64_t epoch = s->epoch;

	memset(s, 0, TL_STAT_SIZE(h->buckets));
	s->epoch = epoch;
}

static struct tl_stat *cell(const struct tl_view *v, struct tl_block *b, uint32_t off)
{
	return (struct tl_stat *)((char *)b + v->shard_off + off);
}

/* It was forgotten meanwhile. */
void tl_shard_stat_renew(struct tl_stat *s, const struct tl_hist *h, uint64_t epoch)
{
	tl_stat_clear(s, h);
	TL_BARRIER();
	s->epoch = epoch;
}

static void stat_merge(struct tl_stat *sum, const struct tl_stat *s, const struct tl_hist *h)
{
	int64_t count = (int64_t)tl_cell_load(&s->count), min, max;
	uint32_t i;

	if (!count)
		return;
	min = (int64_t)tl_cell_load(&s->min);
	max = (int64_t)tl_cell_load(&s->max);
	if (!sum->count || min < sum->min)
		sum->min = min;
	if (!sum->count || max > sum->max)
		sum->max = max;
	sum->count = tl_add(sum->count, count);
	sum->sum = tl_add(sum->sum, (int64_t)tl_cell_load(&s->sum));
	for (i = 0; i < h->buckets; i++)
		sum->bucket[i] = tl_add(sum->bucket[i], (int64_t)tl_cell_load(&s->bucket[i]));
}

/* What a part with a mean of its own adds to the spread around the mean of all. */
static int64_t spread_around(const struct tl_stat *s, int64_t mean)
{
	int64_t count = (int64_t)tl_cell_load(&s->count);
	int64_t off = tl_sub((int64_t)tl_cell_load(&s->mean), mean);
	int64_t spread = (int64_t)tl_cell_load(&s->spread);

	if (count > 1)
		spread = tl_mul(count - 1, tl_div_any(spread, count - 1));
	return tl_add(tl_mul(count, tl_mul(off, off)), spread);
}

/* The cell of thread number i, where it has samples. */
static const struct tl_stat *filled(const struct tl_view *v, uint32_t i, uint32_t off)
{
	const struct tl_stat *s = cell(v, tl_block_at(v, i), off);
	uint64_t epoch = tl_cell_load(&cell(v, tl_block_at(v, 0), off)->epoch);

	return tl_cell_load(&s->epoch) == epoch && tl_cell_load(&s->count) ? s : NULL;
}

void tl_shard_stat_get(
	struct tl_run *run, uint32_t off, const struct tl_hist *h, struct tl_stat *sum)
{
	const struct tl_view *v = run->view;
	const struct tl_stat *s;
	uint32_t i, n = tl_blocks_used(v);

	memset(sum, 0, TL_STAT_SIZE(h->buckets));
	for (i = 1; i < n; i++)
		if ((s = filled(v, i, off)) != NULL)
			stat_merge(sum, s, h);
	if (!h->variance || !sum->count)
		return;
	sum->mean = tl_div_any(tl_shl(sum->sum, h->shift), sum->count);
	for (i = 1; i < n; i++)
		if ((s = filled(v, i, off)) != NULL)
			sum->spread = tl_add(sum->spread, spread_around(s, sum->mean));
}

void tl_shard_stat_clear(struct tl_run *run, uint32_t off)
{
	struct tl_stat *base = cell(run->view, tl_block_at(run->view, 0), off);

	__atomic_fetch_add(tl_low_word(&base->epoch), 1, __ATOMIC_RELEASE);
}

static int64_t *long_cell(const struct tl_view *v, uint32_t i, uint32_t off)
{
	return (int64_t *)((char *)tl_block_at(v, i) + v->shard_off + off);
}

int64_t tl_shard_get(struct tl_run *run, uint32_t off)
{
	uint64_t sum = tl_cell_load(long_cell(run->view, 0, off));
	uint32_t i, n = tl_blocks_used(run->view);

	for (i = 1; i < n; i++)
		sum += tl_cell_load(long_cell(run->view, i, off));
	return (int64_t)sum;
}

/* Under the global's lock: nobody else moves the base. Adds that come meanwhile are kept. */
void tl_shard_set(struct tl_run *run, uint32_t off, int64_t v)
{
	int64_t *base = long_cell(run->view, 0, off);

	*base = tl_add(*base, tl_sub(v, tl_shard_get(run, off)));
}

/* `shared` may change under our eyes: what decides is read once. */
int64_t tl_stat_get(struct tl_run *run, const struct tl_stat *shared, enum tl_stat_op op)
{
	struct tl_stat s = {.count = 0};

	if (shared)
		memcpy(&s, shared, sizeof(s));
	if (op == TL_COUNT)
		return s.count;
	if (op == TL_SUM)
		return s.count ? s.sum : 0;
	if (!s.count) {
		tl_run_error(run, "empty aggregate");
		return 0;
	}
	switch (op) {
	case TL_MIN:
		return s.min;
	case TL_MAX:
		return s.max;
	case TL_AVG:
		return s.count == -1 ? 0 : tl_div_any(s.sum, s.count);
	default:
		return s.count < 2 ? 0 : tl_div_any(s.spread, s.count - 1);
	}
}

int64_t tl_stat_variance(
	struct tl_run *run, const struct tl_stat *shared, const struct tl_hist *h, bool whole)
{
	struct tl_stat s = {.count = 0};

	if (shared)
		memcpy(&s, shared, sizeof(s));
	if (!s.count) {
		tl_run_error(run, "empty aggregate");
		return 0;
	}
	if (s.count < 2)
		return 0;
	if (whole)
		s.spread = spread_around(&s, tl_div_any(tl_shl(s.sum, h->shift), s.count));
	return tl_shr(tl_div_any(s.spread, s.count - 1), 2u * h->shift);
}

int64_t tl_hist_bucket(
	struct tl_run *run, const struct tl_stat *s, const struct tl_hist *h, int64_t n)
{
	if (!s || !s->count)
		tl_run_error(run, "empty aggregate");
	else if (n < 0 || n >= h->buckets)
		tl_run_error(run, "histogram index out of range");
	else
		return s->bucket[n];
	return 0;
}
