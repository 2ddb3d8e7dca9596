/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/* Where control enters the function parts of an image from elsewhere. */
#ifndef TRAPLESS_ENGINE_CORE_ENTRIES_H
#define TRAPLESS_ENGINE_CORE_ENTRIES_H

#include "../base/addrs.h"
#include "../base/index.h"
#include "dynsym.h"
#include "ehframe.h"

/* Of one image. */
struct tl_entries {
	struct tl_eh_table table;
	struct tl_addrs list; /* found by the walk, sorted */
	struct tl_index noted; /* those that came later */
	/* Perhaps, and in no function of the table, sorted: see uncovered.c */
	struct tl_addrs called;
	bool calls_known;
	struct tl_dynamic dynamic;
	bool linked; /* `dynamic` has been read */
	bool tabled, scanned, incomplete;
	bool nomem; /* of this attempt: worth another one later */
	uint8_t *near; /* bit per function of the table: its short jumps are among the entries */
	size_t near_size;
	size_t near_lo, near_hi; /* a run of functions with that bit, the one that was used last */
};

struct tl_entries *tl_entries_of(const struct tl_image *img);
/* NULL: no memory. */
struct tl_eh_table *tl_entries_table(const struct tl_image *img);
void tl_entries_deinit(void);

/*
 * uncovered.c: is addr, which no function of the table holds, code? Then the part that goes on there, with what is proven;
 * alone: and nothing else lies between the table's functions there. False: both are as they were.
 */
bool tl_gap_proves(struct tl_eh_table *t, uintptr_t addr, struct tl_func_part *part, bool *alone);

#endif
