/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
#include "mem.h"

/*
 * Handlers use these too, so they must never become calls into a C library,
 * whose versions use vector registers: hence volatile. Words, at any alignment.
 */
typedef uintptr_t word __attribute__((may_alias, aligned(1)));

void tl_copy(void *to, const void *from, size_t n)
{
	volatile uint8_t *d = to;
	const uint8_t *s = from;

#pragma GCC unroll 4
	for (; n >= sizeof(word); n -= sizeof(word), d += sizeof(word), s += sizeof(word))
		*(volatile word *)d = *(const word *)s;
	while (n--)
		*d++ = *s++;
}

void tl_fill(void *to, int byte, size_t n)
{
	volatile uint8_t *d = to;
	uintptr_t all = (uintptr_t)(byte & 0xff) * (UINTPTR_MAX / 0xff);

#pragma GCC unroll 4
	for (; n >= sizeof(word); n -= sizeof(word), d += sizeof(word))
		*(volatile word *)d = all;
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
