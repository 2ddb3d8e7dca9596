/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
#include "lock.h"

#include "../engine/os/process/syscall.h"

static void futex(struct tl_lock *l, long op, uint32_t val)
{
	tl_syscall4(TL_NR_futex, (long)&l->word, op, (long)val, 0);
}

void tl_lock_take(struct tl_lock *l)
{
	uint32_t seen = 0;

	if (!__atomic_compare_exchange_n(
		    &l->word, &seen, 1, false, __ATOMIC_ACQUIRE, __ATOMIC_RELAXED)) {
		while (__atomic_exchange_n(&l->word, 2, __ATOMIC_ACQUIRE))
			futex(l, TL_FUTEX_WAIT_PRIVATE, 2);
	}
	__atomic_store_n(&l->owner, tl_machine_thread(), __ATOMIC_RELAXED);
}

void tl_lock_release(struct tl_lock *l)
{
	__atomic_store_n(&l->owner, 0, __ATOMIC_RELAXED);
	if (__atomic_exchange_n(&l->word, 0, __ATOMIC_RELEASE) == 2)
		futex(l, TL_FUTEX_WAKE_PRIVATE, 1);
}

bool tl_lock_mine(const struct tl_lock *l)
{
	return __atomic_load_n(&l->owner, __ATOMIC_RELAXED) == tl_machine_thread();
}
