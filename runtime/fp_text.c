/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/*
 * Floating point from and to decimal text, exactly. What is in between is a
 * row of decimal digits that is doubled and halved.
 */
#include "fp.h"

/* Digits that decide how a number is rounded: 768 for a tie of the longest kind. */
enum { DIGITS = 770, STEP = 58 };

/* 0.d[0]d[1]... * 10^point */
struct decimal {
	int n, point;
	bool more; /* digits behind d[] that are not all 0 */
	uint8_t d[DIGITS];
};

static void trim(struct decimal *x)
{
	while (x->n && !x->d[x->n - 1])
		x->n--;
	if (!x->n)
		x->point = 0;
}

/* x / 2^k, k at most STEP */
static void halve(struct decimal *x, unsigned k)
{
	uint64_t v = 0, mask = (1ull << k) - 1;
	int from = 0, to = 0;

	while (!(v >> k)) {
		if (from >= x->n && !v)
			return;
		v = v * 10 + (from < x->n ? x->d[from] : 0);
		from++;
	}
	x->point -= from - 1;
	while (from < x->n || v) {
		if (to < DIGITS)
			x->d[to++] = (uint8_t)(v >> k);
		else if (v >> k)
			x->more = true;
		v = (v & mask) * 10 + (from < x->n ? x->d[from] : 0);
		from++;
	}
	x->n = to;
	trim(x);
}

/* x * 2^k, k at most STEP: from the last digit on, then moved by the digits that came in front. */
static void twice(struct decimal *x, unsigned k)
{
	uint64_t v = 0, rem;
	uint8_t front[20];
	int i, new = 0, keep;

	for (i = x->n - 1; i >= 0; i--) {
		v = tl_udiv(v + ((uint64_t)x->d[i] << k), 10, &rem);
		x->d[i] = (uint8_t)rem;
	}
	for (; v; new ++) {
		v = tl_udiv(v, 10, &rem);
		front[new] = (uint8_t)rem;
	}
	keep = x->n < DIGITS - new ? x->n : DIGITS - new;
	for (i = keep; i < x->n; i++)
		x->more |= x->d[i] != 0;
	memmove(x->d + new, x->d, (size_t)keep);
	for (i = 0; i < new; i++)
		x->d[i] = front[new - 1 - i];
	x->n = keep + new;
	x->point += new;
	trim(x);
}

static void scale(struct decimal *x, int k)
{
	for (; k > STEP; k -= STEP)
		twice(x, STEP);
	for (; k < -STEP; k += STEP)
		halve(x, STEP);
	if (k > 0)
		twice(x, (unsigned)k);
	else
		halve(x, (unsigned)-k);
}

/* --- from text ------------------------------------------------------------------ */

static bool is_digit(char c)
{
	return c >= '0' && c <= '9';
}

static void add_digit(struct decimal *x, char c)
{
	if (x->n < DIGITS)
		x->d[x->n++] = (uint8_t)(c - '0');
	else
		x->more |= c != '0';
}

/* [digits][.digits][e[+-]digits] up to the end of the text. */
static bool parse(struct decimal *x, const char *p)
{
	int64_t exp = 0;
	bool point = false, any = false, minus;

	x->n = x->point = 0;
	x->more = false;
	for (; is_digit(*p) || (*p == '.' && !point); p++) {
		if (*p == '.') {
			point = true;
			continue;
		}
		any = true;
		if (x->n || *p != '0')
			add_digit(x, *p);
		else if (point)
			x->point--;
		x->point += !point && (x->n || *p != '0');
	}
	if (any && (*p == 'e' || *p == 'E')) {
		minus = *++p == '-';
		p += minus || *p == '+';
		any = is_digit(*p);
		for (; is_digit(*p); p++)
			exp = exp < 100000 ? exp * 10 + (*p - '0') : exp;
		exp = minus ? -exp : exp;
	}
	exp += x->point;
	x->point = exp > 100000 ? 100000 : exp < -100000 ? -100000 : (int)exp;
	trim(x);
	return any && !*p;
}

/* The whole number that the digits in front of the point are, and a bit for the rest. */
static uint64_t whole(const struct decimal *x)
{
	uint64_t v = 0;
	int i;

	for (i = 0; i < x->point; i++)
		v = v * 10 + (i < x->n ? x->d[i] : 0);
	return v | (x->more || i < x->n);
}

/*
 * By powers of two to a number of 58 to 61 bits in front of the point, so that
 * what is left rounds once. 10^19 > 2^62.
 */
static uint64_t to_bits(struct decimal *x, bool minus)
{
	int k = 0, by;

	if (!x->n || x->point < -330)
		return tl_fp_pack(minus, 0, 0);
	if (x->point > 310)
		return (minus ? FP_SIGN : 0) | FP_INF;
	while (x->point > 18) {
		by = (x->point - 18) * 10 / 3 + 1;
		by = by < STEP ? by : STEP;
		halve(x, (unsigned)by);
		k += by;
	}
	while (x->point < 18) {
		by = (18 - x->point) * 3 + 1;
		by = by < STEP ? by : STEP;
		twice(x, (unsigned)by);
		k -= by;
	}
	return tl_fp_normal(minus, FP_TOP + k, whole(x));
}

int64_t tl_string_to_fp(struct tl_run *run, const struct tl_str *s)
{
	bool minus = s->b[0] == '-';
	struct decimal x;

	if (!parse(&x, s->b + (minus || s->b[0] == '+'))) {
		tl_run_error(run, "invalid format");
		return 0;
	}
	return (int64_t)to_bits(&x, minus);
}

/* --- to text -------------------------------------------------------------------- */

static void round_at(struct decimal *x, int n)
{
	int i;
	bool up;

	if (n >= x->n)
		return;
	if (n < 0) {
		x->n = 0;
		return;
	}
	up = x->d[n] >= 5; /* a tie, too, as SystemTap */
	x->n = n;
	for (i = n - 1; up && i >= 0; i--) {
		up = x->d[i] == 9;
		x->d[i] = up ? 0 : (uint8_t)(x->d[i] + 1);
	}
	if (up) { /* all of them were nines, or there was none */
		x->d[0] = 1;
		x->n = 1;
		x->point++;
	}
}

static void open_decimal(struct decimal *x, const struct tl_fp *f)
{
	uint64_t v = f->sig, rem;
	int i, n = 0;

	x->more = false;
	for (; v; n++) {
		v = tl_udiv(v, 10, &rem);
		x->d[n] = (uint8_t)rem;
	}
	for (i = 0; i < n / 2; i++) {
		uint8_t t = x->d[i];

		x->d[i] = x->d[n - 1 - i];
		x->d[n - 1 - i] = t;
	}
	x->n = x->point = n;
	trim(x);
	scale(x, f->sig ? f->exp - FP_TOP : 0);
}

struct out {
	struct tl_str *s;
	uint32_t max;
	bool cut;
};

static void put(struct out *o, char c)
{
	if (o->s->len < o->max)
		o->s->b[o->s->len++] = c;
	else
		o->cut = true;
}

static char digit(const struct decimal *x, int i)
{
	return (char)('0' + (i >= 0 && i < x->n ? x->d[i] : 0));
}

static void put_number(struct out *o, const struct decimal *x, int precision)
{
	int i;

	for (i = x->point > 0 ? 0 : x->point - 1; i < x->point; i++)
		put(o, digit(x, i));
	put(o, '.');
	for (; i < x->point + precision; i++)
		put(o, digit(x, i));
}

static bool is_finite(struct tl_run *run, struct tl_str *dst, uint64_t v, const struct tl_fp *f)
{
	bool nan = fp_is_nan(v);

	if (nan || f->exp > FP_MOST)
		tl_str_set_c(run, dst, nan ? "nan" : f->minus ? "-inf" : "inf");
	return !nan && f->exp <= FP_MOST;
}

void tl_fp_to_string(struct tl_run *run, struct tl_str *dst, int64_t v, int64_t precision)
{
	struct out o = {dst, tl_max_len(run), false};
	struct tl_fp f = tl_fp_open((uint64_t)v);
	struct decimal x;

	if (!is_finite(run, dst, (uint64_t)v, &f))
		return;
	if (precision < 1)
		precision = 1; /* as SystemTap */
	if (precision > (int64_t)tl_max_len(run))
		precision = tl_max_len(run);
	open_decimal(&x, &f);
	round_at(&x, x.point + (int)precision);
	dst->len = 0;
	if (f.minus)
		put(&o, '-');
	put_number(&o, &x, (int)precision);
	dst->b[dst->len] = 0;
	if (o.cut)
		run->block->truncated++;
}

static void put_exponent(struct out *o, int exp)
{
	int n = exp < 0 ? -exp : exp;

	put(o, 'e');
	put(o, exp < 0 ? '-' : '+');
	if (n >= 100)
		put(o, (char)('0' + n / 100));
	put(o, (char)('0' + n / 10 % 10));
	put(o, (char)('0' + n % 10));
}

/* The digits there are, and zeros where the point is behind them. */
static void put_digits(struct out *o, const struct decimal *x)
{
	int i;

	for (i = x->point > 0 ? 0 : x->point - 1; i < x->point || i < x->n; i++) {
		if (i == x->point)
			put(o, '.');
		put(o, digit(x, i));
	}
}

void tl_fp_shown(struct tl_run *run, struct tl_str *dst, int64_t v, int64_t digits)
{
	struct out o = {dst, tl_max_len(run), false};
	struct tl_fp f = tl_fp_open((uint64_t)v);
	struct decimal x;
	int exp;

	if (!is_finite(run, dst, (uint64_t)v, &f))
		return;
	open_decimal(&x, &f);
	round_at(&x, (int)digits);
	trim(&x);
	exp = x.n ? x.point - 1 : 0;
	dst->len = 0;
	if (f.minus)
		put(&o, '-');
	if (!x.n || (exp >= -4 && exp < digits)) {
		x.point = x.n ? x.point : 1;
		put_digits(&o, &x);
	} else {
		x.point = 1;
		put_digits(&o, &x);
		put_exponent(&o, exp);
	}
	dst->b[dst->len] = 0;
	if (o.cut)
		run->block->truncated++;
}
