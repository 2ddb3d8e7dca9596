/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/* A lock that sleeps, and knows its owner. All zero: it is free. */
#ifndef TRAPLESS_LIB_LOCK_H
#define TRAPLESS_LIB_LOCK_H

#include <stdbool.h>
#include <stdint.h>

struct tl_lock {
	uint32_t word; /* 0 free, 1 held, 2 held and somebody sleeps */
	uintptr_t owner; /* his thread pointer, which he alone can compare */
};

/* Sleeps. Its owner must not call it again: a signal handler may be he, tl_lock_mine() tells. */
void tl_lock_take(struct tl_lock *l);
void tl_lock_release(struct tl_lock *l);
/* Any context. */
bool tl_lock_mine(const struct tl_lock *l);

#endif
