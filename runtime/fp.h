/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/* Between fp.c and fp_text.c: a floating point number in pieces. */
#ifndef TRAPLESS_RUNTIME_FP_H
#define TRAPLESS_RUNTIME_FP_H

#include "internal.h"

#define FP_SIGN	    (1ull << 63)
#define FP_INF	    (0x7ffull << 52)
#define FP_QUIET    (1ull << 51)
#define FP_NONE	    (FP_SIGN | FP_INF | FP_QUIET) /* what x86 makes of 0/0 */
#define FP_FRACTION ((1ull << 52) - 1)

/* Of an open number's sig: the bit that is always set, and what lies below the last bit of a packed one. */
enum { FP_TOP = 62, FP_GUARD = FP_TOP - 52, FP_HALF = 1 << (FP_GUARD - 1) };
/* Exponents of the smallest and largest numbers whose first bit is not written. */
enum { FP_LEAST = -1022, FP_MOST = 1023 };

/* sig * 2^(exp - FP_TOP); of zero sig is 0. Neither infinite nor none. */
struct tl_fp {
	bool minus;
	int exp;
	uint64_t sig;
};

static inline bool fp_is_nan(uint64_t v)
{
	return v << 1 > FP_INF << 1;
}

/* v >> n, with the lowest bit set where bits were lost. */
static inline uint64_t tl_fp_shift(uint64_t v, unsigned n)
{
	if (n > 63)
		return v != 0;
	return v >> n | (n && v << (64 - n));
}

struct tl_fp tl_fp_open(uint64_t v);
/* Round and pack; sig 0 or with its highest bit at FP_TOP, the lowest one sticky. */
uint64_t tl_fp_pack(bool minus, int exp, uint64_t sig);
/* The same of any sig. */
uint64_t tl_fp_normal(bool minus, int exp, uint64_t sig);

#endif
