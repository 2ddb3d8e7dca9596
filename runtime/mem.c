/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/*
 * What compilers call by themselves, for homes without a C library. Weak: a
 * home that has its own takes that.
 */
#include "mem.h"

#if __STDC_HOSTED__ == 0 || defined(TL_OWN_MEMORY)

#if defined(__GNUC__) && !defined(__clang__)
/* or the loops below would become calls of the functions that they are */
#pragma GCC optimize("no-tree-loop-distribute-patterns")
#endif

typedef uintptr_t __attribute__((may_alias, aligned(1))) word;
typedef uint32_t __attribute__((may_alias, aligned(1))) half;

/*
 * Fewer bytes than a word. What was written byte by byte is slow to read by larger pieces at once, as a processor
 * has to wait until all of it has left its store buffer; most names are short, and are read just so (map.c).
 */
static inline void copy_rest(unsigned char *d, const unsigned char *s, size_t n)
{
	if (n >= sizeof(half)) {
		*(half *)d = *(const half *)s;
		d += sizeof(half), s += sizeof(half), n -= sizeof(half);
	}
	while (n--)
		*d++ = *s++;
}

__attribute__((weak)) void *memcpy(void *restrict dst, const void *restrict src, size_t n)
{
	unsigned char *d = dst;
	const unsigned char *s = src;

	for (; n >= sizeof(word); n -= sizeof(word), d += sizeof(word), s += sizeof(word))
		*(word *)d = *(const word *)s;
	copy_rest(d, s, n);
	return dst;
}

__attribute__((weak)) void *memmove(void *dst, const void *src, size_t n)
{
	unsigned char *d = dst;
	const unsigned char *s = src;

	if ((uintptr_t)d - (uintptr_t)s >= n) {
		for (; n >= sizeof(word); n -= sizeof(word), d += sizeof(word), s += sizeof(word))
			*(word *)d = *(const word *)s;
		copy_rest(d, s, n);
	} else {
		while (n--)
			d[n] = s[n];
	}
	return dst;
}

__attribute__((weak)) void *memset(void *dst, int c, size_t n)
{
	unsigned char *d = dst;
	word w = (word)-1 / 255 * (unsigned char)c;

	for (; n >= sizeof(word); n -= sizeof(word), d += sizeof(word))
		*(word *)d = w;
	while (n--)
		*d++ = (unsigned char)c;
	return dst;
}

__attribute__((weak)) int memcmp(const void *a, const void *b, size_t n)
{
	const unsigned char *x = a, *y = b;

	for (; n >= sizeof(word) && *(const word *)x == *(const word *)y; n -= sizeof(word))
		x += sizeof(word), y += sizeof(word);
	if (n >= sizeof(half) && *(const half *)x == *(const half *)y)
		x += sizeof(half), y += sizeof(half), n -= sizeof(half);
	for (; n; n--, x++, y++)
		if (*x != *y)
			return *x - *y;
	return 0;
}

#endif
