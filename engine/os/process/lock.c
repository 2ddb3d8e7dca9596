/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/* The engine lock: a three-state futex with an owner. */
#include "process.h"

static uint32_t word; /* 0 free, 1 held, 2 held and somebody sleeps */
static uintptr_t owner; /* me() of the holder, who alone can compare it */

uint32_t tl_gettid(void)
{
	return (uint32_t)tl_syscall3(TL_NR_gettid, 0, 0, 0);
}

static void futex(long op, uint32_t val)
{
	tl_syscall4(TL_NR_futex, (long)&word, op, (long)val, 0);
}

/* Asked for at every assertion, so without a system call where that can be. */
static uintptr_t me(void)
{
	uintptr_t key = tl_os_thread_key(true);

	return key ? key : tl_gettid();
}

void tl_os_lock(void)
{
	uint32_t seen = 0;

	if (!__atomic_compare_exchange_n(
		    &word, &seen, 1, false, __ATOMIC_ACQUIRE, __ATOMIC_RELAXED)) {
		while (__atomic_exchange_n(&word, 2, __ATOMIC_ACQUIRE) != 0)
			futex(TL_FUTEX_WAIT_PRIVATE, 2);
	}
	__atomic_store_n(&owner, me(), __ATOMIC_RELAXED);
	tl_text_forget();
	tl_mappings_forget();
}

void tl_os_unlock(void)
{
	__atomic_store_n(&owner, 0, __ATOMIC_RELAXED);
	if (__atomic_exchange_n(&word, 0, __ATOMIC_RELEASE) == 2)
		futex(TL_FUTEX_WAKE_PRIVATE, 1);
}

bool tl_os_lock_held(void)
{
	return __atomic_load_n(&owner, __ATOMIC_RELAXED) == me();
}

void tl_os_pause(unsigned microseconds)
{
	struct tl_timespec ts = {microseconds / 1000000, (long)(microseconds % 1000000) * 1000};

	tl_syscall3(TL_NR_nanosleep, (long)&ts, 0, 0);
}
