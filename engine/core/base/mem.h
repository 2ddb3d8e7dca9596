/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/* Memory helpers of the freestanding engine, and the few atomics it needs. */
#ifndef TRAPLESS_ENGINE_CORE_MEM_H
#define TRAPLESS_ENGINE_CORE_MEM_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

void tl_copy(void *to, const void *from, size_t n); /* no overlap */
void tl_fill(void *to, int byte, size_t n);
bool tl_equal(const void *a, const void *b, size_t n);

/* How many bits are set; the compiler's own may be a call into its library. */
static inline unsigned tl_bits(uint32_t v)
{
	unsigned n = 0;

	for (; v; v &= v - 1)
		n++;
	return n;
}

#define TL_LOAD(p)     __atomic_load_n(p, __ATOMIC_ACQUIRE)
#define TL_STORE(p, v) __atomic_store_n(p, v, __ATOMIC_RELEASE)
#define TL_RELAXED(p)  __atomic_load_n(p, __ATOMIC_RELAXED)
#define TL_CAS(p, old, v)                                                                          \
	__atomic_compare_exchange_n(p, old, v, false, __ATOMIC_ACQ_REL, __ATOMIC_ACQUIRE)

/* Count in 64 bits on every machine, also where only 32 bits can be added at once. Any context. */
static inline void tl_count_by(uint64_t *counter, int one)
{
#if UINTPTR_MAX > 0xffffffffu
	__atomic_fetch_add(counter, (uint64_t)one, __ATOMIC_RELAXED);
#else
	uint32_t *w = (uint32_t *)(void *)counter;
#if __BYTE_ORDER__ == __ORDER_BIG_ENDIAN__
	uint32_t *low = w + 1, *high = w;
#else
	uint32_t *low = w, *high = w + 1;
#endif

	if (__atomic_fetch_add(low, (uint32_t)one, __ATOMIC_RELAXED) == (one > 0 ? UINT32_MAX : 0))
		__atomic_fetch_add(high, (uint32_t)one, __ATOMIC_RELAXED);
#endif
}

/* What it has come to. Where there is no load of 64 bits, one that is carrying may show too few. */
static inline uint64_t tl_counted(const uint64_t *counter)
{
#if UINTPTR_MAX > 0xffffffffu
	return TL_RELAXED(counter);
#else
	return *(const volatile uint64_t *)counter;
#endif
}

static inline void tl_count(uint64_t *counter)
{
	tl_count_by(counter, 1);
}

static inline void tl_uncount(uint64_t *counter)
{
	tl_count_by(counter, -1);
}

#endif
