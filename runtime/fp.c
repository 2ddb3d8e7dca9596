/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/*
 * Floating point of 64 bits (IEEE 754 binary64) by whole numbers alone:
 * handlers must not touch the program's own registers for it. Results are
 * rounded to the nearest, ties to even. Where there is no number, the result
 * is the first operand that was none already, or x86's.
 */
#include "fp.h"

uint64_t tl_fp_pack(bool minus, int exp, uint64_t sig)
{
	uint64_t sign = (uint64_t)minus << 63, bits;
	int below = FP_LEAST - exp;

	if (!sig)
		return sign;
	if (below > 0) {
		sig = tl_fp_shift(sig, (unsigned)below);
		exp = FP_LEAST;
	}
	sig += FP_HALF - 1 + (sig >> FP_GUARD & 1);
	sig >>= FP_GUARD;
	/* the sum carries into the exponent where rounding does */
	bits = ((uint64_t)(exp - FP_LEAST) << 52) + sig;
	return sign | (exp > FP_MOST || bits > FP_INF ? FP_INF : bits);
}

uint64_t tl_fp_normal(bool minus, int exp, uint64_t sig)
{
	int up = 63 - (int)tl_bits(sig);

	if (!sig)
		return tl_fp_pack(minus, 0, 0);
	if (up < 0)
		return tl_fp_pack(minus, exp + 1, tl_fp_shift(sig, 1));
	return tl_fp_pack(minus, exp - up, sig << up);
}

struct tl_fp tl_fp_open(uint64_t v)
{
	struct tl_fp f = {v >> 63 != 0, (int)(v >> 52 & 0x7ff), (v & FP_FRACTION) << FP_GUARD};

	if (f.exp) {
		f.exp -= 1023;
		f.sig |= 1ull << FP_TOP;
	} else if (f.sig) {
		int up = 63 - (int)tl_bits(f.sig);

		f.exp = FP_LEAST - up;
		f.sig <<= up;
	}
	return f;
}

static bool is_zero(uint64_t v)
{
	return !(v << 1);
}
static bool is_inf(uint64_t v)
{
	return v << 1 == FP_INF << 1;
}
/* No number among two: what the result is. */
static uint64_t none(uint64_t a, uint64_t b)
{
	return (fp_is_nan(a) ? a : b) | FP_QUIET;
}

/* |a| + |b|, a not the smaller one; the sign is a's. */
static uint64_t sum(struct tl_fp a, struct tl_fp b)
{
	uint64_t sig = a.sig + tl_fp_shift(b.sig, (unsigned)(a.exp - b.exp));

	return tl_fp_normal(a.minus, a.exp, sig);
}

static uint64_t difference(struct tl_fp a, struct tl_fp b)
{
	uint64_t sig = a.sig - tl_fp_shift(b.sig, (unsigned)(a.exp - b.exp));

	return sig ? tl_fp_normal(a.minus, a.exp, sig) : 0;
}

int64_t tl_fp_add(int64_t x, int64_t y)
{
	uint64_t a = (uint64_t)x, b = (uint64_t)y;
	struct tl_fp fa, fb, t;

	if (fp_is_nan(a) || fp_is_nan(b))
		return (int64_t)none(a, b);
	if (is_inf(a) || is_inf(b)) {
		if (is_inf(a) && is_inf(b) && a != b)
			return (int64_t)FP_NONE;
		return is_inf(a) ? x : y;
	}
	if (is_zero(a) || is_zero(b)) {
		if (is_zero(a) && is_zero(b))
			return (int64_t)(a & b); /* -0 only of two */
		return is_zero(a) ? y : x;
	}
	fa = tl_fp_open(a);
	fb = tl_fp_open(b);
	if (a << 1 < b << 1) {
		t = fa;
		fa = fb;
		fb = t;
	}
	return (int64_t)(fa.minus == fb.minus ? sum(fa, fb) : difference(fa, fb));
}

int64_t tl_fp_sub(int64_t a, int64_t b)
{
	if (fp_is_nan((uint64_t)b))
		return tl_fp_add(a, b);
	return tl_fp_add(a, (int64_t)((uint64_t)b ^ FP_SIGN));
}

/* The upper 64 bits of a product shifted down by FP_TOP, the lost ones as the lowest. */
static uint64_t product(uint64_t a, uint64_t b)
{
	uint64_t ah = a >> 32, al = (uint32_t)a, bh = b >> 32, bl = (uint32_t)b;
	uint64_t mid = ah * bl + (al * bl >> 32), mid2 = al * bh + (uint32_t)mid;
	uint64_t hi = ah * bh + (mid >> 32) + (mid2 >> 32), lo = mid2 << 32 | (uint32_t)(al * bl);

	return hi << (64 - FP_TOP) | lo >> FP_TOP | (lo << (64 - FP_TOP) != 0);
}

int64_t tl_fp_mul(int64_t x, int64_t y)
{
	uint64_t a = (uint64_t)x, b = (uint64_t)y, sign = (a ^ b) & FP_SIGN;
	struct tl_fp fa = tl_fp_open(a), fb = tl_fp_open(b);

	if (fp_is_nan(a) || fp_is_nan(b))
		return (int64_t)none(a, b);
	if (is_inf(a) || is_inf(b))
		return (int64_t)(is_zero(a) || is_zero(b) ? FP_NONE : sign | FP_INF);
	if (is_zero(a) || is_zero(b))
		return (int64_t)sign;
	return (int64_t)tl_fp_normal(sign != 0, fa.exp + fb.exp, product(fa.sig, fb.sig));
}

static uint64_t quotient(struct tl_fp a, struct tl_fp b, bool minus)
{
	uint64_t q = 0, r = a.sig;
	int i, exp = a.exp - b.exp;

	if (r < b.sig) {
		r <<= 1;
		exp--;
	}
	for (i = 0; i <= FP_TOP; i++, r <<= 1) {
		q <<= 1;
		if (r >= b.sig) {
			r -= b.sig;
			q |= 1;
		}
	}
	return tl_fp_pack(minus, exp, q | (r != 0));
}

int64_t tl_fp_div(int64_t x, int64_t y)
{
	uint64_t a = (uint64_t)x, b = (uint64_t)y, sign = (a ^ b) & FP_SIGN;

	if (fp_is_nan(a) || fp_is_nan(b))
		return (int64_t)none(a, b);
	if (is_inf(a))
		return (int64_t)(is_inf(b) ? FP_NONE : sign | FP_INF);
	if (is_zero(b))
		return (int64_t)(is_zero(a) ? FP_NONE : sign | FP_INF);
	if (is_inf(b) || is_zero(a))
		return (int64_t)sign;
	return (int64_t)quotient(tl_fp_open(a), tl_fp_open(b), sign != 0);
}

/* a - n * b with n the whole number nearest to a / b, the even one of two. */
static uint64_t rest_of(struct tl_fp a, struct tl_fp b)
{
	uint64_t r = a.sig, last = 0;
	int n = a.exp - b.exp;

	if (n < -1)
		return tl_fp_pack(a.minus, a.exp, a.sig);
	if (n == -1) { /* in units of a's last place */
		if (r <= b.sig)
			return tl_fp_pack(a.minus, a.exp, r);
		return tl_fp_normal(!a.minus, a.exp, 2 * b.sig - r);
	}
	for (;; r <<= 1) {
		last = r >= b.sig;
		r -= last ? b.sig : 0;
		if (!n--)
			break;
	}
	if (r > b.sig - r || (r == b.sig - r && last))
		return tl_fp_normal(!a.minus, b.exp, b.sig - r);
	return tl_fp_normal(a.minus, b.exp, r);
}

int64_t tl_fp_rem(int64_t x, int64_t y)
{
	uint64_t a = (uint64_t)x, b = (uint64_t)y;

	if (fp_is_nan(a) || fp_is_nan(b))
		return (int64_t)none(a, b);
	if (is_inf(a) || is_zero(b))
		return (int64_t)FP_NONE;
	if (is_inf(b) || is_zero(a))
		return x;
	return (int64_t)rest_of(tl_fp_open(a), tl_fp_open(b));
}

int64_t tl_fp_sqrt(int64_t x)
{
	enum { BITS = 56 };
	struct tl_fp f = tl_fp_open((uint64_t)x);
	uint64_t root = 0, rest = 0, t;
	int i;

	if (fp_is_nan((uint64_t)x))
		return (int64_t)((uint64_t)x | FP_QUIET);
	if (is_zero((uint64_t)x) || (uint64_t)x == FP_INF)
		return x;
	if (f.minus)
		return (int64_t)FP_NONE;
	if (f.exp & 1) {
		f.sig <<= 1;
		f.exp--;
	}
	for (i = 0; i < BITS; i++, f.sig <<= 2) {
		rest = rest << 2 | f.sig >> 62;
		t = root << 2 | 1;
		root <<= 1;
		if (rest >= t) {
			rest -= t;
			root |= 1;
		}
	}
	return (int64_t)tl_fp_pack(false, f.exp / 2, root << (FP_TOP + 1 - BITS) | (rest != 0));
}

bool tl_fp_eq(int64_t a, int64_t b)
{
	if (fp_is_nan((uint64_t)a) || fp_is_nan((uint64_t)b))
		return false;
	return a == b || !(((uint64_t)a | (uint64_t)b) << 1);
}

bool tl_fp_lt(int64_t a, int64_t b)
{
	if (fp_is_nan((uint64_t)a) || fp_is_nan((uint64_t)b) || tl_fp_eq(a, b))
		return false;
	if ((a < 0) != (b < 0))
		return a < 0;
	return a < 0 ? a > b : a < b;
}

int64_t tl_fp_of_long(int64_t v)
{
	uint64_t u = v < 0 ? 0 - (uint64_t)v : (uint64_t)v;

	return (int64_t)tl_fp_normal(v < 0, FP_TOP, u);
}

int64_t tl_fp_of_fp32(int64_t v)
{
	uint64_t sign = (uint64_t)(v & 0x80000000) << 32, fraction = (uint64_t)v & 0x7fffff;
	int exp = (int)(v >> 23 & 0xff);

	if (exp == 0xff)
		return (int64_t)(sign | FP_INF | fraction << 29 | (fraction ? FP_QUIET : 0));
	if (!exp)
		return (int64_t)(tl_fp_normal(false, FP_TOP - 149, fraction) | sign);
	return (int64_t)(sign | (uint64_t)(exp - 127 + 1023) << 52 | fraction << 29);
}

/* Is a number with these bits behind the point to be one more? */
static bool rounds_up(uint64_t whole, uint64_t fraction, bool minus, int64_t mode)
{
	const uint64_t half = 1ull << 63;

	switch (mode) {
	case TL_FP_DOWN:
		return fraction && minus;
	case TL_FP_UP:
		return fraction && !minus;
	case TL_FP_NEAREST_AWAY:
		return fraction >= half;
	case TL_FP_ODD:
		return fraction && !(whole & 1);
	case TL_FP_NEAREST:
		return fraction > half || (fraction == half && whole & 1);
	}
	return false;
}

int64_t tl_fp_to_long(int64_t v, int64_t mode)
{
	struct tl_fp f = tl_fp_open((uint64_t)v);
	uint64_t whole = 0, fraction = 0;

	if (f.exp > 63 || fp_is_nan((uint64_t)v))
		return INT64_MIN;
	if (f.exp >= FP_TOP) {
		whole = f.sig << (f.exp - FP_TOP);
	} else if (f.exp >= 0) {
		whole = f.sig >> (FP_TOP - f.exp);
		fraction = f.sig << (64 - FP_TOP + f.exp);
	} else if (f.sig) {
		fraction = tl_fp_shift(f.sig << 1, (unsigned)(-1 - f.exp));
	}
	whole += rounds_up(whole, fraction, f.minus, mode);
	if (whole > (uint64_t)INT64_MAX + f.minus)
		return INT64_MIN;
	return (int64_t)(f.minus ? 0 - whole : whole);
}
