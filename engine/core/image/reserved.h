/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/* The ranges of text that are reserved. Engine lock held. */
#ifndef TRAPLESS_ENGINE_CORE_IMAGE_RESERVED_H
#define TRAPLESS_ENGINE_CORE_IMAGE_RESERVED_H

#include <stdint.h>
#include <trapless/reserve.h>

enum { TL_RESERVED = 0x72736476 }; /* tl_reservation.reserved, while it is among them */

int tl_reserved_insert(struct tl_reservation *r); /* 0 or -TL_E_NOMEM */
void tl_reserved_drop(struct tl_reservation *r);
/* One that overlaps [lo, hi) and refuses by this -TL_E_; NULL: there is none. */
const struct tl_reservation *tl_reserved_over(uintptr_t lo, uintptr_t hi, int why);
/* Until fn returns something else than 0; returns that. */
int tl_reserved_each(int (*fn)(const struct tl_reservation *r, void *arg), void *arg);

/* By us, by the caller, by other modifiers? 0 or -TL_E_. */
int tl_text_claimed(uintptr_t lo, uintptr_t hi);
int tl_refuse_return(uintptr_t entry); /* 0 or -TL_E_RET_BLACKLIST */
int tl_reserve_own(uintptr_t lo, uintptr_t hi); /* once; may be repeated */
void tl_reserve_deinit(void);

#endif
