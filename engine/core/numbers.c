/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/*
 * Numbers of threads that come by return probes. A thread takes one in its first such handler and keeps it; it is given
 * back when the thread's record is.
 */
#include "ret.h"

static uint32_t taken[TL_RET_THREADS / 32];
static struct tl_thread *whose[TL_RET_THREADS + 1];
static uint32_t highest;

static bool take_bit(uint32_t *word, uint32_t *bit)
{
	uint32_t old = TL_RELAXED(word);

	while (old != UINT32_MAX) {
		*bit = (uint32_t)__builtin_ctz(~old);
		if (TL_CAS(word, &old, old | 1u << *bit))
			return true;
	}
	return false;
}

static void raise_highest(uint32_t n)
{
	uint32_t old = TL_RELAXED(&highest);

	while (old < n && !TL_CAS(&highest, &old, n))
		;
}

bool tl_ret_number_take(struct tl_thread *self)
{
	uint32_t bit, n;

	for (uint32_t i = 0; i < TL_RET_THREADS / 32; i++) {
		if (!take_bit(&taken[i], &bit))
			continue;
		n = 32 * i + bit + 1;
		TL_STORE(&whose[n], self);
		raise_highest(n);
		self->ret_at = n * TL_RET_STEP;
		return true;
	}
	return false;
}

void tl_ret_number_give(struct tl_thread *t)
{
	uint32_t n = (uint32_t)(t->ret_at / TL_RET_STEP) - 1;

	TL_ASSERT_HELD();
	t->ret_at = 0;
	TL_STORE(&whose[n + 1], NULL);
	__atomic_fetch_and(&taken[n / 32], ~(1u << n % 32), __ATOMIC_RELEASE);
}

void tl_ret_numbers_deinit(void)
{
	tl_fill(taken, 0, sizeof(taken));
	tl_fill(whose, 0, sizeof(whose));
	highest = 0;
}

struct tl_thread *tl_ret_numbered(uint32_t number)
{
	return TL_LOAD(&whose[number]);
}

uint32_t tl_ret_numbers(void)
{
	return TL_LOAD(&highest);
}
