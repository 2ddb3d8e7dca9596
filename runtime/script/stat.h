/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/* Statistics: @count, @sum ..., and their histograms. */
#ifndef TRAPLESS_RUNTIME_SCRIPT_STAT_H
#define TRAPLESS_RUNTIME_SCRIPT_STAT_H

#include "number.h"

/*
 * In globals, map entries and shards. Buckets follow when hist says so: 128
 * for @hist_log; (high - low) / step + 3 for @hist_linear (low .. high, then
 * below in the first and above in the last one).
 * `epoch`: sharded only; a cell of another epoch than block 0's is empty.
 */
struct tl_stat {
	int64_t count, sum, min, max;
	uint64_t epoch;
	int64_t mean; /* of the samples << shift, as it was rounded on the way; where hist says variance */
	int64_t spread; /* what is to be divided by count - 1 */
	uint64_t reserved;
	int64_t bucket[];
};

#define TL_HIST_LOG_BUCKETS 128
struct tl_hist {
	uint8_t kind; /* 0 none, 1 log, 2 linear */
	uint8_t variance; /* keep what @variance needs */
	uint8_t shift; /* the samples' scale for it */
	uint8_t kept; /* as it is printed: empty buckets shown beside full ones; TL_HIST_ALL: all of them */
	uint32_t buckets; /* 0, TL_HIST_LOG_BUCKETS, or (high - low) / step + 3, at most 4096 */
	int64_t low, high, step;
};
#define TL_HIST_KEPT	      2
#define TL_HIST_ALL	      255
#define TL_STAT_SIZE(buckets) (64u + 8u * (buckets))

enum tl_stat_op { TL_COUNT, TL_SUM, TL_MIN, TL_MAX, TL_AVG, TL_VARIANCE };

/* Buckets and @variance; the sample is counted already. */
void tl_stat_add_more(struct tl_stat *s, const struct tl_hist *h, int64_t v);
/* One sample into the statistic at `s`. */
static inline void tl_stat_add(struct tl_stat *s, const struct tl_hist *h, int64_t v)
{
	if (tl_unlikely(!s->count)) {
		s->sum = s->min = s->max = v;
	} else {
		s->sum = tl_add(s->sum, v);
		if (v < s->min)
			s->min = v;
		if (v > s->max)
			s->max = v;
	}
	s->count = tl_add(s->count, 1);
	if (h->kind || h->variance)
		tl_stat_add_more(s, h, v);
}
static inline struct tl_stat *tl_global_stat(const struct tl_run *run, uint32_t off)
{
	return (struct tl_stat *)(run->view->globals + off);
}
/* Sharded: add to the own cell; sum all cells into `sum` (TL_STAT_LOCAL); forget all. */
void tl_shard_stat_renew(struct tl_stat *s, const struct tl_hist *h, uint64_t epoch);
static inline void tl_shard_stat_add(const struct tl_view *v, struct tl_block *b, uint32_t off,
	const struct tl_hist *h, int64_t x)
{
	const struct tl_stat *base = (struct tl_stat *)(v->blocks + v->shard_off + off);
	struct tl_stat *s = (struct tl_stat *)((char *)b + v->shard_off + off);
	uint64_t epoch = *(const volatile uint64_t *)&base->epoch; /* its low word alone changes */

	if (tl_unlikely(s->epoch != epoch))
		tl_shard_stat_renew(s, h, epoch);
	tl_stat_add(s, h, x);
}
void tl_shard_stat_get(
	struct tl_run *run, uint32_t off, const struct tl_hist *h, struct tl_stat *sum);
void tl_shard_stat_clear(struct tl_run *run, uint32_t off);
void tl_stat_clear(struct tl_stat *s, const struct tl_hist *h);

/* A local statistic with room for n buckets (n a constant). */
#define TL_STAT_LOCAL(name, n)                                                                     \
	uint64_t name##_room[TL_STAT_SIZE(n) / 8];                                                 \
	struct tl_stat *const name = (struct tl_stat *)name##_room;                                \
	name->count = 0

/* @count ... (TL_VARIANCE: a number by which elements of one array can be sorted). Of an empty statistic only @count and @sum are 0; the others fail. s may be NULL: empty. */
int64_t tl_stat_get(struct tl_run *run, const struct tl_stat *s, enum tl_stat_op op);
/*
 * @variance: SystemTap's, by Welford's way in whole numbers. Of a statistic that
 * is no element of an array (`whole`) the rounded mean is corrected at the end.
 */
int64_t tl_stat_variance(
	struct tl_run *run, const struct tl_stat *s, const struct tl_hist *h, bool whole);
/* print(@hist_...(s)) and the count of one bucket (may fail). */
void tl_hist_print(struct tl_run *run, const struct tl_stat *s, const struct tl_hist *h);
int64_t tl_hist_bucket(
	struct tl_run *run, const struct tl_stat *s, const struct tl_hist *h, int64_t n);
/* The least and the greatest number that bucket n counts. */
int64_t tl_hist_bound(const struct tl_hist *h, int64_t n, bool most);

#endif
