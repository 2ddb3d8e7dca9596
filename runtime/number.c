/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/* 64-bit division where the machine has none. */
#include "internal.h"

int64_t tl_div_any(int64_t a, int64_t b)
{
	uint64_t rem, q;

	q = tl_udiv(
		a < 0 ? 0 - (uint64_t)a : (uint64_t)a, b < 0 ? 0 - (uint64_t)b : (uint64_t)b, &rem);
	return (int64_t)((a < 0) != (b < 0) ? 0 - q : q);
}

int64_t tl_mod_any(int64_t a, int64_t b)
{
	uint64_t rem;

	tl_udiv(a < 0 ? 0 - (uint64_t)a : (uint64_t)a, b < 0 ? 0 - (uint64_t)b : (uint64_t)b, &rem);
	return (int64_t)(a < 0 ? 0 - rem : rem);
}
