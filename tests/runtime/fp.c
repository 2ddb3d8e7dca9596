/* SPDX-License-Identifier: MIT */
/* Floating point by whole numbers against the processor's own and the C library's, bit by bit. */
#include "home.h"
#include <math.h>
#include <stdlib.h>

#define ROUNDS 40000

static uint64_t state = 88172645463325252ull;

static uint64_t any(void)
{
	state ^= state << 13;
	state ^= state >> 7;
	return state ^= state << 17;
}

/* Plain ones, and those around every border. */
static uint64_t any_bits(void)
{
	static const uint64_t borders[] = {0, 1, 0x000fffffffffffff, 0x0010000000000000,
		0x3ff0000000000000, 0x7fefffffffffffff, 0x7ff0000000000000, 0x7ff8000000000000,
		0x7ff0000000000001, 0x4340000000000000};
	uint64_t v = any();

	switch (any() % 8) {
	case 0:
		return borders[any() % (sizeof(borders) / 8)] | (v & 1ull << 63);
	case 1:
		return (borders[any() % (sizeof(borders) / 8)] + any() % 5 - 2) ^ (v & 1ull << 63);
	case 2: /* near 1: cancellation */
		return (v & 0x800fffffffffffff) | (0x3feull + any() % 3) << 52;
	case 3: /* few bits: ties */
		return v & 0xffff000000000000;
	case 4:
		return (v & 0x800fffffffffffff) | (0x3ffull + any() % 70) << 52;
	}
	return v;
}

static double of(uint64_t v)
{
	double d;

	memcpy(&d, &v, 8);
	return d;
}
static uint64_t bits(double d)
{
	uint64_t v;

	memcpy(&v, &d, 8);
	return v;
}
static bool same(int64_t got, double want)
{
	return (uint64_t)got == bits(want) || (isnan(want) && isnan(of((uint64_t)got)));
}
/* The C library's zero has either sign. */
static bool same_remainder(int64_t got, double want)
{
	return same(got, want) || (!want && of((uint64_t)got) == 0);
}

static void arithmetic_equals_the_processors(void)
{
	int i;

	for (i = 0; i < ROUNDS; i++) {
		volatile double a = of(any_bits()), b = of(any_bits());
		int64_t x = (int64_t)bits(a), y = (int64_t)bits(b);

		CHECK(same(tl_fp_add(x, y), a + b));
		CHECK(same(tl_fp_sub(x, y), a - b));
		CHECK(same(tl_fp_mul(x, y), a * b));
		CHECK(same(tl_fp_div(x, y), a / b));
		CHECK(same(tl_fp_sqrt(x), sqrt(a)));
		CHECK(tl_fp_eq(x, y) == (a == b) && tl_fp_eq(x, x) == (a == a));
		CHECK(tl_fp_lt(x, y) == (a < b) && tl_fp_lt(y, x) == (b < a));
		if (i < ROUNDS / 10)
			CHECK(same_remainder(tl_fp_rem(x, y), remainder(a, b)));
	}
}

static int64_t whole(double d)
{
	return d >= -0x1p63 && d < 0x1p63 ? (int64_t)d : INT64_MIN;
}

static double to_odd(double d)
{
	double down = floor(d);

	if (down == d || fabs(d) >= 0x1p53)
		return d;
	return fmod(down, 2) ? down : down + 1;
}

static void conversions_equal_the_processors(void)
{
	int i;

	for (i = 0; i < ROUNDS; i++) {
		uint64_t v = any_bits(), n = any() >> any() % 64;
		uint32_t v32 = (uint32_t)any();
		volatile double d = of(v);
		float f;

		memcpy(&f, &v32, 4);
		CHECK(same(tl_fp_of_long((int64_t)n), (double)(int64_t)n));
		CHECK(same(tl_fp_of_fp32(v32), (double)f));
		CHECK(tl_fp_to_long((int64_t)v, TL_FP_CUT) == whole(d));
		CHECK(tl_fp_to_long((int64_t)v, TL_FP_NEAREST) == whole(rint(d)));
		CHECK(tl_fp_to_long((int64_t)v, TL_FP_DOWN) == whole(floor(d)));
		CHECK(tl_fp_to_long((int64_t)v, TL_FP_UP) == whole(ceil(d)));
		CHECK(tl_fp_to_long((int64_t)v, TL_FP_NEAREST_AWAY) == whole(round(d)));
		CHECK(tl_fp_to_long((int64_t)v, TL_FP_ODD) == whole(to_odd(d)));
	}
}

/* All digits by the library; a tie is rounded away from 0, which it does not. */
static void rounded(char *text, double d, int precision)
{
	char *end;
	bool up;

	sprintf(text, "%.1100f", d);
	if (!isfinite(d))
		return;
	end = strchr(text, '.') + 1 + precision;
	up = *end >= '5';
	*end = 0;
	while (up && end > text) {
		end -= end[-1] == '.' ? 2 : 1;
		if (end < text || *end == '-')
			break;
		up = *end == '9';
		*end = up ? '0' : *end + 1;
	}
	if (up) {
		end = text + (*text == '-');
		memmove(end + 1, end, strlen(end) + 1);
		*end = '1';
	}
}

static void text_equals_the_librarys(void)
{
	char want[2000], text[400];
	int i, precision;

	home_open(64, 64, 0);
	ENTER(run);
	TL_STRING(s);
	for (i = 0; i < ROUNDS / 20; i++) {
		uint64_t v = any_bits();
		double d = of(v);

		precision = (int)(any() % 30); /* 0 and less: one digit */
		tl_fp_to_string(&run, s, (int64_t)v, precision > 1 ? precision : precision - 3);
		rounded(want, d, precision > 1 ? precision : 1);
		if (isnan(d))
			strcpy(want, "nan");
		CHECK(home_is(s, want));
		snprintf(text, sizeof(text), "%.*e", (int)(any() % 25), d);
		if (isfinite(d))
			CHECK(same(tl_string_to_fp(&run, home_str(text)), strtod(text, NULL)));
		snprintf(text, sizeof(text), "%llu.%llue%d", (unsigned long long)any(),
			(unsigned long long)any(), (int)(any() % 700) - 350);
		CHECK(same(tl_string_to_fp(&run, home_str(text)), strtod(text, NULL)));
	}
	CHECK(!run.error);
}

/* Rounded to the nearest as the library does; of ties the outer one is meant, and they are left out. */
static void short_text_equals_the_librarys(void)
{
	static const double some[] = {0, -0.0, 1, -1, 0.1, 2.5, 1e15, 1e14, 123456, 999999.5,
		0.0001, 0.00001, 1e100, 1e-300, 5e-324, 1.7976931348623157e308, 1.0 / 3, 100, 1e5,
		1e6};
	char want[64], more[64];
	unsigned i;
	int digits;

	home_open(64, 64, 0);
	ENTER(run);
	TL_STRING(s);
	for (i = 0; i < sizeof(some) / sizeof(*some) + ROUNDS / 20; i++) {
		double d = i < sizeof(some) / sizeof(*some) ? some[i] : of(any_bits());

		for (digits = TL_FP32_DIGITS; digits <= TL_FP64_DIGITS;
			digits += TL_FP64_DIGITS - TL_FP32_DIGITS) {
			snprintf(want, sizeof(want), "%.*g", digits, d);
			snprintf(more, sizeof(more), "%.*e", digits + 30, d);
			if (isnan(d))
				strcpy(want, "nan");
			else if (isfinite(d) &&
				 !strncmp(strchr(more, '.') + digits, "5000000000", 10))
				continue;
			tl_fp_shown(&run, s, (int64_t)bits(d), digits);
			CHECK(home_is(s, want));
		}
	}
	CHECK(!run.error);
}

/* Halfway between two floats, and beside that: the last of 768 digits decides. */
static void ties_are_decided_by_the_last_digit(void)
{
	static char text[1200];
	uint64_t v;
	int i, n;

	home_open(64, 64, 0);
	ENTER(run);
	for (i = 0; i < 300; i++) {
		v = any() >> 12 | (uint64_t)(i % 3) << 52;
		/* the sum of two neighbours, of which the last digit is 5: half of it is the middle */
		n = snprintf(text, sizeof(text), "%.1100f", of(v));
		while (text[n - 1] == '0')
			text[--n] = 0;
		text[n - 1] = text[n - 1] == '5' ? '4' : text[n - 1];
		if (n > TL_MAXSTRING - 20)
			n = TL_MAXSTRING - 20;
		text[n] = 0;
		CHECK(same(tl_string_to_fp(&run, home_str(text)), strtod(text, NULL)));
		strcpy(text + n, "25e-1");
		CHECK(same(tl_string_to_fp(&run, home_str(text)), strtod(text, NULL)));
	}
	CHECK(same(tl_string_to_fp(&run, home_str("9007199254740993")), 9007199254740992.0));
	CHECK(same(
		tl_string_to_fp(&run, home_str("9007199254740993.00000000000000000000000000001")),
		9007199254740994.0));
	CHECK(same(tl_string_to_fp(&run, home_str("1e400")), HUGE_VAL));
	CHECK(same(tl_string_to_fp(&run, home_str("-1e-400")), -0.0));
	CHECK(!run.error);
}

static void what_is_no_number_is_an_error(void)
{
	static const char *const bad[] = {
		"", ".", "-", "e5", "1e", "1e+", "1.2.3", "1x", " 1", "0x10", "nan", "--1"};
	unsigned i;

	for (i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
		home_open(64, 64, 0);
		ENTER(run);
		CHECK(!tl_string_to_fp(&run, home_str(bad[i])) && run.error);
	}
}

int main(void)
{
	RUN(arithmetic_equals_the_processors);
	RUN(conversions_equal_the_processors);
	RUN(text_equals_the_librarys);
	RUN(short_text_equals_the_librarys);
	RUN(ties_are_decided_by_the_last_digit);
	RUN(what_is_no_number_is_an_error);
	return UNIT_RESULT();
}
