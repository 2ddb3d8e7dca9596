/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/* The engine lock. */
#include "futex.h"
#include "process.h"

static struct tl_lock lock;

uint32_t tl_gettid(void)
{
	return (uint32_t)tl_syscall3(TL_NR_gettid, 0, 0, 0);
}

/* Asked for at every assertion, so without a system call where that can be. */
static uintptr_t me(void)
{
	uintptr_t key = tl_os_thread_key(true);

	return key ? key : tl_gettid();
}

void tl_os_lock(void)
{
	tl_lock_take(&lock, me());
	tl_text_forget();
	tl_mappings_forget();
}

void tl_os_unlock(void)
{
	tl_lock_release(&lock);
}

bool tl_os_lock_held(void)
{
	return tl_lock_is_of(&lock, me());
}

void tl_os_pause(unsigned microseconds)
{
	struct tl_timespec ts = {microseconds / 1000000, (long)(microseconds % 1000000) * 1000};

	tl_syscall3(TL_NR_nanosleep, (long)&ts, 0, 0);
}
