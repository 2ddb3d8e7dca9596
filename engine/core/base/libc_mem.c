/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/*
 * The four functions that compilers call on their own, for links without a C
 * library (the agent). Hosted programs use their library's.
 */
#include "mem.h"

void *memcpy(void *to, const void *from, size_t n);
void *memmove(void *to, const void *from, size_t n);
void *memset(void *to, int byte, size_t n);
int memcmp(const void *a, const void *b, size_t n);

void *memcpy(void *to, const void *from, size_t n)
{
	tl_copy(to, from, n);
	return to;
}

void *memmove(void *to, const void *from, size_t n)
{
	volatile uint8_t *d = to;
	const uint8_t *s = from;

	if ((uintptr_t)to <= (uintptr_t)from)
		return memcpy(to, from, n);
	while (n--)
		d[n] = s[n];
	return to;
}

void *memset(void *to, int byte, size_t n)
{
	tl_fill(to, byte, n);
	return to;
}

int memcmp(const void *a, const void *b, size_t n)
{
	const uint8_t *x = a, *y = b;

	for (; n--; x++, y++)
		if (*x != *y)
			return *x < *y ? -1 : 1;
	return 0;
}
