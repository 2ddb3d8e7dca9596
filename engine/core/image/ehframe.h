/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/* Unwind tables as a proof of where functions begin and end. */
#ifndef TRAPLESS_ENGINE_CORE_EHFRAME_H
#define TRAPLESS_ENGINE_CORE_EHFRAME_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include "image.h"

struct tl_eh_entry {
	struct tl_func_part part;
	uintptr_t lsda; /* 0: none */
};

/* Calls fn for each landing pad. 0, or -TL_E_NOT_PROVEN when the table makes no sense. */
int tl_eh_pads(const struct tl_eh_entry *e, void (*fn)(void *arg, uintptr_t pad), void *arg);

/* A sorted list without doubles, in the caller's memory. */
struct tl_pad_list {
	uintptr_t *pads;
	size_t n, max;
	uintptr_t lo, hi; /* only those inside */
	bool full;
};
void tl_pad_add(void *list, uintptr_t pad);

/* The table as it was read once: analysis of many functions asks it all the time. */
struct tl_eh_row {
	int32_t start; /* from the header */
	uint32_t size_pads; /* size * 2, + 1: it may have landing pads; 0: not proven */
	int32_t fde; /* from the header */
};
struct tl_eh_table {
	const struct tl_image *img;
	struct tl_eh_row *row;
	size_t n;
	size_t last; /* what was found last: the next is near by */
};
/* 0 or -TL_E_NOMEM. Of an image without a usable one: empty. */
int tl_eh_load(struct tl_eh_table *t, const struct tl_image *img);
void tl_eh_unload(struct tl_eh_table *t);
/* The i-th function of the table, read anew. 0 or -TL_E_NOT_PROVEN. */
int tl_eh_entry(const struct tl_eh_table *t, size_t i, struct tl_eh_entry *e);
/* Start of the i-th function, 0: no such row. */
static inline uintptr_t tl_eh_start(const struct tl_eh_table *t, size_t i)
{
	return i < t->n ? t->img->eh_frame_hdr + (uintptr_t)(intptr_t)t->row[i].start : 0;
}
/* 0: not proven. */
static inline size_t tl_eh_size(const struct tl_eh_table *t, size_t i)
{
	return t->row[i].size_pads / 2;
}
static inline bool tl_eh_has_pads(const struct tl_eh_table *t, size_t i)
{
	return t->row[i].size_pads & 1;
}
/* How many functions of the table start at or below addr: the last of them has this number less one. */
size_t tl_eh_upto(struct tl_eh_table *t, uintptr_t addr);
/*
 * The function part that holds addr. Fills bounds, landing pads out of its
 * exception table (at most max; more: -TL_E_LIMIT), and the start of the next
 * function that the table knows (0: none). Returns 0, or -TL_E_NOT_PROVEN when
 * no entry covers addr.
 */
int tl_eh_function(struct tl_eh_table *t, uintptr_t addr, struct tl_func_part *part,
	uintptr_t *pads, size_t max, size_t *npads, uintptr_t *next);

#endif
