/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/* A futex with three states, and an owner. */
#include "futex.h"
#include "syscall.h"

static void futex(struct tl_lock *l, long op, uint32_t val)
{
	tl_syscall4(TL_NR_futex, (long)&l->word, op, (long)val, 0);
}

void tl_lock_take(struct tl_lock *l, uintptr_t me)
{
	uint32_t seen = 0;

	if (!__atomic_compare_exchange_n(
		    &l->word, &seen, 1, false, __ATOMIC_ACQUIRE, __ATOMIC_RELAXED)) {
		while (__atomic_exchange_n(&l->word, 2, __ATOMIC_ACQUIRE) != 0)
			futex(l, TL_FUTEX_WAIT_PRIVATE, 2);
	}
	__atomic_store_n(&l->owner, me, __ATOMIC_RELAXED);
}

void tl_lock_release(struct tl_lock *l)
{
	__atomic_store_n(&l->owner, 0, __ATOMIC_RELAXED);
	if (__atomic_exchange_n(&l->word, 0, __ATOMIC_RELEASE) == 2)
		futex(l, TL_FUTEX_WAKE_PRIVATE, 1);
}

bool tl_lock_is_of(const struct tl_lock *l, uintptr_t me)
{
	return __atomic_load_n(&l->owner, __ATOMIC_RELAXED) == me;
}
