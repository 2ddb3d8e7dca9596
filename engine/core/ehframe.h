/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/* Unwind tables as a proof of where functions begin and end. */
#ifndef TRAPLESS_ENGINE_CORE_EHFRAME_H
#define TRAPLESS_ENGINE_CORE_EHFRAME_H

#include "internal.h"

struct tl_eh_entry {
	struct tl_func_part part;
	uintptr_t next; /* start of the next function in the table, 0: none */
	uintptr_t lsda; /* 0: none */
	uint8_t lsda_enc;
	size_t index; /* in the table */
};

/* Number of functions in the table, 0 when it cannot be used. */
size_t tl_eh_count(const struct tl_image *img);
/* Start of the i-th function, 0: no such row. */
uintptr_t tl_eh_start(const struct tl_image *img, size_t i);
/* The i-th function of the table. 0 or -TL_E_NOT_PROVEN. */
int tl_eh_entry(const struct tl_image *img, size_t i, struct tl_eh_entry *e);
/* How many functions of the table start at or below addr: the last of them has this number less one. */
size_t tl_eh_upto(const struct tl_image *img, uintptr_t addr);
/* The function that holds addr. 0 or -TL_E_NOT_PROVEN. */
int tl_eh_find(const struct tl_image *img, uintptr_t addr, struct tl_eh_entry *e);
/* Calls fn for each landing pad. 0, or -TL_E_NOT_PROVEN when the table makes no sense. */
int tl_eh_pads(const struct tl_eh_entry *e, void (*fn)(void *arg, uintptr_t pad), void *arg);

#endif
