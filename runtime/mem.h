/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/* Memory, words and 64-bit arithmetic for code that has no C library. */
#ifndef TRAPLESS_RUNTIME_MEM_H
#define TRAPLESS_RUNTIME_MEM_H

#include <stddef.h>
#include <stdint.h>

void *memcpy(void *restrict dst, const void *restrict src, size_t n);
void *memmove(void *dst, const void *src, size_t n);
void *memset(void *dst, int c, size_t n);
int memcmp(const void *a, const void *b, size_t n);

static inline uint32_t tl_cstr_len(const char *s)
{
	uint32_t n = 0;

	while (s[n])
		n++;
	return n;
}

static inline uint64_t tl_get64(const void *p)
{
	uint64_t v;

	__builtin_memcpy(&v, p, 8);
	return v;
}

static inline uint32_t tl_get32(const void *p)
{
	uint32_t v;

	__builtin_memcpy(&v, p, 4);
	return v;
}

/* n / d, *rem = n % d; d is not 0. No libgcc on 32-bit machines. */
static inline uint64_t tl_udiv(uint64_t n, uint64_t d, uint64_t *rem)
{
#if UINTPTR_MAX > 0xffffffffu
	*rem = n % d;
	return n / d;
#else
	uint64_t q = 0, r = 0;
	int i;

	if (!(n >> 32) && !(d >> 32)) {
		*rem = (uint32_t)n % (uint32_t)d;
		return (uint32_t)n / (uint32_t)d;
	}
	for (i = 63; i >= 0; i--) {
		uint32_t carry = (uint32_t)(r >> 63);

		r = r << 1 | (n >> i & 1);
		if (carry || r >= d) {
			r -= d;
			q |= 1ull << i;
		}
	}
	*rem = r;
	return q;
#endif
}

/* Number of the highest set bit plus one; 0 for 0. */
static inline unsigned tl_bits(uint64_t v)
{
	uint32_t hi = (uint32_t)(v >> 32), lo = (uint32_t)v;

	if (hi)
		return 64 - (unsigned)__builtin_clz(hi);
	return lo ? 32 - (unsigned)__builtin_clz(lo) : 0;
}

/*
 * Counters that one side writes and another one reads: 64 bits in shared
 * memory, of which a 32-bit machine uses the low half (differences matter, not
 * values), so that no half-written number is ever seen.
 */
static inline uintptr_t *tl_low_word(uint64_t *p)
{
#if UINTPTR_MAX <= 0xffffffffu && defined(__BYTE_ORDER__) && __BYTE_ORDER__ == __ORDER_BIG_ENDIAN__
	return (uintptr_t *)p + 1;
#else
	return (uintptr_t *)p;
#endif
}
static inline uintptr_t tl_word_load(uint64_t *p)
{
	return __atomic_load_n(tl_low_word(p), __ATOMIC_ACQUIRE);
}
static inline void tl_word_store(uint64_t *p, uintptr_t v)
{
	__atomic_store_n(tl_low_word(p), v, __ATOMIC_RELEASE);
}

/* The same for a time of which all bits matter; 0 is "none", and clears by its low half. */
static inline void tl_time_store(uint64_t *p, uint64_t v)
{
#if UINTPTR_MAX <= 0xffffffffu
	uintptr_t *low = tl_low_word(p), *high = low == (uintptr_t *)p ? low + 1 : low - 1;

	if (v)
		__atomic_store_n(high, (uintptr_t)(v >> 32), __ATOMIC_RELEASE);
#endif
	tl_word_store(p, (uintptr_t)v);
}
static inline uint64_t tl_time_load(uint64_t *p)
{
#if UINTPTR_MAX <= 0xffffffffu
	uintptr_t *low = tl_low_word(p), *high = low == (uintptr_t *)p ? low + 1 : low - 1, lo, hi;
	int tries = 0; /* a hostile writer may go on for ever */

	do {
		lo = tl_word_load(p);
		if (!lo)
			return 0;
		hi = __atomic_load_n(high, __ATOMIC_ACQUIRE);
	} while (lo != tl_word_load(p) && ++tries < 1000);
	return (uint64_t)hi << 32 | lo;
#else
	return tl_word_load(p);
#endif
}

/* A 64-bit cell that another thread may be writing. */
static inline uint64_t tl_cell_load(const void *p)
{
#if UINTPTR_MAX > 0xffffffffu
	return __atomic_load_n((const uint64_t *)p, __ATOMIC_RELAXED);
#else
	const volatile uint32_t *w = p;
	uint32_t a, b, again, tries = 0;

	do {
		a = w[0];
		__asm__ volatile("" ::: "memory");
		b = w[1];
		__asm__ volatile("" ::: "memory");
		again = w[0];
	} while (a != again && ++tries < 1000);
	uint32_t both[2] = {a, b};
	return tl_get64(both);
#endif
}

#endif
