/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/* The journal: what the text was, for whoever has to clean up. */
#ifndef TRAPLESS_ENGINE_CORE_TEXT_JOURNAL_H
#define TRAPLESS_ENGINE_CORE_TEXT_JOURNAL_H

#include <stddef.h>
#include <stdint.h>
#include "../../arch/arch.h"

#define TL_JOURNAL_MAGIC 0x746c6a32 /* "tlj2" */
struct tl_journal_entry {
	uint64_t addr;
	uint32_t len; /* 0: free */
	uint8_t orig[TL_PATCH_MAX], ours[TL_PATCH_MAX]; /* without the patch, and with it */
	uint32_t pad;
};
struct tl_journal {
	uint32_t magic, max;
	struct tl_journal_entry entry[];
};
/* Read by others at any moment: an entry's len is stored last and cleared first. */
extern struct tl_journal *volatile tl_journal;
int tl_journal_reserve(size_t more);
size_t tl_journal_put(uintptr_t addr, const uint8_t *orig, const uint8_t *ours,
	size_t len); /* reserved before; returns its number */
void tl_journal_drop(size_t number);
void tl_journal_deinit(void);

#endif
