/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/* Whole numbers. Nothing here is undefined, and only a division can fail. */
#ifndef TRAPLESS_RUNTIME_SCRIPT_NUMBER_H
#define TRAPLESS_RUNTIME_SCRIPT_NUMBER_H

#include "run.h"

void tl_run_div0(struct tl_run *run);

static inline int64_t tl_add(int64_t a, int64_t b)
{
	return (int64_t)((uint64_t)a + (uint64_t)b);
}
static inline int64_t tl_sub(int64_t a, int64_t b)
{
	return (int64_t)((uint64_t)a - (uint64_t)b);
}
static inline int64_t tl_mul(int64_t a, int64_t b)
{
	return (int64_t)((uint64_t)a * (uint64_t)b);
}
static inline int64_t tl_neg(int64_t a)
{
	return (int64_t)(0 - (uint64_t)a);
}
static inline int64_t tl_shl(int64_t a, int64_t n)
{
	return (int64_t)((uint64_t)a << (n & 63));
}
static inline int64_t tl_shr(int64_t a, int64_t n)
{
	return a >> (n & 63);
}
static inline int64_t tl_shru(int64_t a, int64_t n)
{
	return (int64_t)((uint64_t)a >> (n & 63));
}
/* May fail. Own code on 32-bit machines: no libgcc in a module. */
int64_t tl_div_any(int64_t a, int64_t b);
int64_t tl_mod_any(int64_t a, int64_t b);
static inline int64_t tl_div(struct tl_run *run, int64_t a, int64_t b)
{
	if (tl_unlikely(!b)) {
		tl_run_div0(run);
		return 0;
	}
	return b == -1 ? tl_neg(a) : tl_div_any(a, b);
}
static inline int64_t tl_mod(struct tl_run *run, int64_t a, int64_t b)
{
	if (tl_unlikely(!b)) {
		tl_run_div0(run);
		return 0;
	}
	return b == -1 ? 0 : tl_mod_any(a, b);
}

/* v cut to size bytes. */
static inline int64_t tl_extend(uint64_t v, uint32_t size, bool is_signed)
{
	unsigned shift = size >= 8 ? 0 : 64 - 8 * size;

	if (is_signed)
		return (int64_t)(v << shift) >> shift;
	return (int64_t)(v << shift >> shift);
}

/* The low bytes of a number in the other order, or in the machine's own, as unsigned. */
static inline int64_t tl_swapped(int64_t v, uint32_t size)
{
	return (int64_t)(__builtin_bswap64((uint64_t)v) >> (64 - 8 * size));
}
static inline int64_t tl_cut(int64_t v, uint32_t size)
{
	return (int64_t)((uint64_t)v << (64 - 8 * size) >> (64 - 8 * size));
}
#if __BYTE_ORDER__ == __ORDER_BIG_ENDIAN__
#define tl_big_endian	 tl_cut
#define tl_little_endian tl_swapped
#else
#define tl_big_endian	 tl_swapped
#define tl_little_endian tl_cut
#endif

#endif
