/* SPDX-License-Identifier: MIT */
/* Most words of a stack lie nowhere near what is looked for: one bit tells that. */
#include <string.h>

#include "../guardian.h"
#include "near.h"

void near_clear(struct near *n)
{
	memset(n, 0, sizeof(*n));
}

void near_add(struct near *n, uint64_t lo, uint64_t size)
{
	uint64_t at = lo >> 16, end = (lo + size + 0xffff) >> 16;

	if (end - at > sizeof(n->bits) * 8)
		end = at + sizeof(n->bits) * 8;
	for (; at < end; at++)
		n->bits[at >> 6 & 1023] |= 1ull << (at & 63);
}
