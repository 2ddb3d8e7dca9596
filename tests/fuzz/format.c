/* SPDX-License-Identifier: MIT */
/*
 * printf formats and their arguments, and histograms of any shape. What a
 * format wants, what a record holds and what is printed must agree.
 */
#include "../../runtime/session.h"
#include "fuzz.h"

enum { FORMAT = 64, BUCKETS = TL_HIST_LOG_BUCKETS, TEXT_MAX = 1 << 20 };

static size_t printed;

static int sink(void *arg, const char *text, size_t n)
{
	(void)arg;
	readable(text, n);
	printed += n;
	return printed > TEXT_MAX;
}

static void formats(struct input *in)
{
	struct tl_fmt_arg args[8];
	char fmt[FORMAT + 1] = "", kinds[4];
	uint32_t bad = 0;
	uint8_t *payload;
	size_t size;
	int n;

	take(in, fmt, FORMAT);
	n = tl_format_kinds(fmt, kinds, sizeof(kinds), &bad);
	must(n >= -1 && n <= 3 * FORMAT && (n >= 0 || fmt[bad] == '%'));
	size = in->left < 512 ? in->left : 512;
	payload = malloc(size + !size);
	must(payload != NULL);
	take(in, payload, size);
	n = tl_format_args(payload, (uint32_t)size, fmt, args, 8);
	must(n >= -1 && n <= 8);
	if (n >= 0)
		tl_format(fmt, args, (uint32_t)n, sink, NULL);
	tl_format(fmt, NULL, 0, sink, NULL);
	free(payload);
}

/* Of the shapes that session.c accepts: the last bound is a 64-bit number. */
static void shape(struct input *in, struct tl_hist *h)
{
	uint64_t room;

	h->kind = (uint8_t)(1 + take_number(in, 1) % 2);
	h->buckets = TL_HIST_LOG_BUCKETS;
	if (h->kind == 1)
		return;
	h->buckets = 3 + (uint32_t)take_number(in, 1) % (BUCKETS - 2);
	h->low = (int64_t)take_number(in, 8);
	room = (uint64_t)INT64_MAX - (uint64_t)h->low;
	if (h->buckets > 3)
		room /= h->buckets - 3;
	h->step = (int64_t)(take_number(in, 8) % (room < INT64_MAX ? room + 1 : INT64_MAX));
	h->step += !h->step;
	h->buckets = room ? h->buckets : 3;
}

static void histogram(struct input *in)
{
	struct tl_hist h = {.kept = (uint8_t)take_number(in, 1)};
	struct tl_stat *s;

	shape(in, &h);
	s = malloc(TL_STAT_SIZE(h.buckets));
	must(s != NULL);
	take(in, s, TL_STAT_SIZE(h.buckets));
	tl_hist_text(s, &h, sink, NULL);
	free(s);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct input in = {data, size};

	printed = 0;
	if (take_number(&in, 1) & 1)
		histogram(&in);
	else
		formats(&in);
	return 0;
}
