/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/*
 * Numbers of threads that come by return probes. A thread takes one in its first such handler and keeps it; it is given
 * back when the thread's record is.
 */
#include "../base/broken.h"
#include "../base/mem.h"
#include "../detour/threads.h"
#include "ret.h"

static struct tl_thread *whose[TL_RET_THREADS + 1]; /* NULL: nobody's */
static uint32_t highest;

static void raise_highest(uint32_t n)
{
	uint32_t old = TL_RELAXED(&highest);

	while (old < n && !TL_CAS(&highest, &old, n))
		;
}

static bool take(struct tl_thread *t)
{
	for (uint32_t n = 1; n <= TL_RET_THREADS; n++) {
		struct tl_thread *nobody = NULL;

		if (TL_RELAXED(&whose[n]) || !TL_CAS(&whose[n], &nobody, t))
			continue;
		raise_highest(n);
		t->ret_at = n * TL_RET_STEP;
		return true;
	}
	return false;
}

bool tl_ret_number_take(struct tl_thread *self)
{
	struct tl_thread *t = tl_thread_with_calls(self, true);

	if (!t || (!t->ret_at && !take(t)))
		return false;
	self->ret_at = t->ret_at;
	return true;
}

void tl_ret_number_find(struct tl_thread *self)
{
	const struct tl_thread *t = tl_thread_with_calls(self, false);

	self->tid = tl_thread_tid(self);
	self->ret_at = t && t->tid == self->tid ? t->ret_at : 0;
}

void tl_ret_number_give(struct tl_thread *t)
{
	uint32_t n = (uint32_t)(t->ret_at / TL_RET_STEP);

	TL_ASSERT_HELD();
	t->ret_at = 0;
	TL_STORE(&whose[n], NULL);
}

void tl_ret_numbers_deinit(void)
{
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
