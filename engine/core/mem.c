/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
#include "mem.h"

void tl_copy(void *to, const void *from, size_t n)
{
	volatile uint8_t *d = to; /* volatile: no call of memcpy instead of the loop */
	const uint8_t *s = from;

	while (n--)
		*d++ = *s++;
}

void tl_fill(void *to, int byte, size_t n)
{
	volatile uint8_t *d = to;

	while (n--)
		*d++ = (uint8_t)byte;
}

bool tl_equal(const void *a, const void *b, size_t n)
{
	const uint8_t *x = a, *y = b;

	while (n--)
		if (*x++ != *y++)
			return false;
	return true;
}
