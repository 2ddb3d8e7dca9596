/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/* A lock that sleeps, and knows its owner. All zero: it is free. */
#ifndef TRAPLESS_ENGINE_OS_PROCESS_FUTEX_H
#define TRAPLESS_ENGINE_OS_PROCESS_FUTEX_H

#include <stdbool.h>
#include <stdint.h>

struct tl_lock {
	uint32_t word; /* 0 free, 1 held, 2 held and somebody sleeps */
	uintptr_t owner; /* 0, or what he calls himself, which he alone can compare */
};

/* `me`: not 0, and no other thread's. Sleeps. Its owner must not call it again: a signal handler may be he. */
void tl_lock_take(struct tl_lock *l, uintptr_t me);
void tl_lock_release(struct tl_lock *l);
/* Any context. */
bool tl_lock_is_of(const struct tl_lock *l, uintptr_t me);

#endif
