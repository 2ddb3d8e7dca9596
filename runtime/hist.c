/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/*
 * Histograms as text, in SystemTap's layout:
 *
 *   value |-------------------------------------------------- count
 *       0 |                                                    0
 *       1 |@@@@@                                               5
 *         ~
 *     128 |@                                                   1
 *
 * A row stands for a bucket. Runs of empty buckets become one ~ row; two empty
 * ones (or as many as the histogram says) stay at either side of the data. A row has at most 50 @.
 */
#include "internal.h"

#define WIDTH  50
#define MARGIN 2

struct shape {
	const struct tl_stat *s;
	const struct tl_hist *h;
	uint32_t low, high; /* buckets shown */
	uint64_t scale; /* samples a @ */
	uint32_t value_width, count_width;
	tl_text_fn out;
	void *arg;
};

static int64_t bucket_value(const struct tl_hist *h, uint32_t i)
{
	if (h->kind == 1) {
		if (i == 64)
			return 0;
		return i > 64 ? (int64_t)(1ull << (i - 65)) : (int64_t)(~0ull << (63 - i));
	}
	if (i == 0)
		return h->low;
	if (i == h->buckets - 1)
		i--; /* "more than the last bound" */
	return (int64_t)((uint64_t)h->low + (i - 1) * (uint64_t)h->step);
}

static int64_t log_bound(uint32_t i, bool most)
{
	if (i == 64)
		return 0;
	if (i > 64)
		return most ? (int64_t)((1ull << (i - 64)) - 1) : (int64_t)(1ull << (i - 65));
	if (most || !i)
		return (int64_t)(~0ull << (63 - i));
	return (int64_t)((~0ull << (64 - i)) + 1);
}

static int64_t linear_bound(const struct tl_hist *h, uint32_t i, bool most)
{
	const uint64_t low = (uint64_t)h->low, step = (uint64_t)h->step;

	if (i == 0)
		return most ? (int64_t)(low - 1) : INT64_MIN;
	if (i == h->buckets - 1 && most)
		return INT64_MAX;
	return (int64_t)(low + (i - 1) * step + (most ? step - 1 : 0));
}

int64_t tl_hist_bound(const struct tl_hist *h, int64_t n, bool most)
{
	return h->kind == 1 ? log_bound((uint32_t)n, most) : linear_bound(h, (uint32_t)n, most);
}

static uint32_t width_of(int64_t v)
{
	char buf[20];

	return tl_text_dec(buf, v);
}

static int repeat(struct shape *p, char c, uint64_t n)
{
	char buf[WIDTH];

	memset(buf, c, sizeof(buf));
	for (; n > sizeof(buf); n -= sizeof(buf))
		if (p->out(p->arg, buf, sizeof(buf)))
			return 1;
	return n ? p->out(p->arg, buf, n) : 0;
}

static int number(struct shape *p, int64_t v, uint64_t width)
{
	char buf[20];
	uint32_t n = tl_text_dec(buf, v);

	return (width > n && repeat(p, ' ', width - n)) || p->out(p->arg, buf, n);
}

static void choose_range(struct shape *p)
{
	uint32_t i, last = p->h->buckets - 1, first = last + 1;
	const int64_t *b = p->s->bucket;

	p->high = 0;
	for (i = 0; i <= last; i++) {
		if (b[i] <= 0)
			continue;
		if (first > last)
			first = i;
		p->high = i;
	}
	p->low = first > last ? 0 : first;
	for (i = 0; i < MARGIN; i++) {
		/* a log histogram without negative values starts at 0 */
		if (p->low > 0 && !(p->h->kind == 1 && p->low == 64))
			p->low--;
		if (p->high < last)
			p->high++;
	}
	if (p->h->kind == 2) {
		if (p->low == 0 && !b[0])
			p->low++;
		if (p->high == last && !b[last])
			p->high--;
	}
}

static void choose_widths(struct shape *p)
{
	const struct tl_hist *h = p->h;
	uint32_t i, lo, hi;
	int64_t most = 0;
	uint64_t rem;

	for (i = 0; i < h->buckets; i++)
		if (p->s->bucket[i] > most)
			most = p->s->bucket[i];
	p->scale = tl_udiv((uint64_t)most, WIDTH, &rem);
	p->scale += rem != 0 || !p->scale;
	if (most <= WIDTH)
		p->scale = 1;
	p->count_width = width_of(most);
	if (h->kind == 1) {
		lo = width_of(bucket_value(h, p->low));
		hi = width_of(bucket_value(h, p->high));
	} else {
		lo = width_of(h->low) + (p->low == 0);
		/* behind the last bound it may wrap; that costs the alignment, no more */
		hi = width_of((int64_t)((uint64_t)h->low + (uint64_t)h->step * p->high)) +
		     (p->high == h->buckets - 1);
	}
	p->value_width = lo > hi ? lo : hi;
	if (p->value_width < 5)
		p->value_width = 5;
}

/* Empty, and so are its shown neighbours. */
static bool elided(const struct shape *p, uint32_t i)
{
	uint32_t kept = p->h->kept;
	uint32_t k = i > p->low + kept ? i - kept : p->low;
	uint32_t end = p->high - i > kept ? i + kept : p->high;

	if (kept == TL_HIST_ALL)
		return false;
	for (; k <= end; k++)
		if (p->s->bucket[k])
			return false;
	return true;
}

static int row(struct shape *p, uint32_t i)
{
	int64_t n = p->s->bucket[i], value = bucket_value(p->h, i);
	uint64_t rem, bar = tl_udiv(n > 0 ? (uint64_t)n : 0, p->scale, &rem);
	const char *mark = "";
	uint32_t w = width_of(value);

	if (bar > WIDTH)
		bar = WIDTH; /* a bucket that grew since its scale was chosen */
	if (p->h->kind == 2)
		mark = i == 0 ? "<" : i == p->h->buckets - 1 ? ">" : "";
	w += *mark != 0;
	return repeat(p, ' ', p->value_width > w ? p->value_width - w : 0) ||
	       p->out(p->arg, mark, *mark != 0) || number(p, value, 0) || p->out(p->arg, " |", 2) ||
	       repeat(p, '@', bar) || number(p, n, WIDTH - bar + 1 + p->count_width) ||
	       p->out(p->arg, "\n", 1);
}

int tl_hist_text(const struct tl_stat *s, const struct tl_hist *h, tl_text_fn out, void *arg)
{
	struct shape p = {s, h, 0, 0, 1, 5, 1, out, arg};
	bool eliding = false;
	uint32_t i;

	if (!h->buckets)
		return 0;
	choose_range(&p);
	choose_widths(&p);
	if (repeat(&p, ' ', p.value_width - 5) || out(arg, "value |", 7) ||
		repeat(&p, '-', WIDTH) || out(arg, " count\n", 7))
		return 1;
	for (i = p.low; i <= p.high; i++) {
		if (elided(&p, i)) {
			eliding = true;
			continue;
		}
		if (eliding && (repeat(&p, ' ', p.value_width) || out(arg, " ~\n", 3)))
			return 1;
		eliding = false;
		if (row(&p, i))
			return 1;
	}
	return out(arg, "\n", 1);
}
