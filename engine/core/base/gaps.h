/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/* Free places among those that are taken, by address and size. */
#ifndef TRAPLESS_ENGINE_CORE_BASE_GAPS_H
#define TRAPLESS_ENGINE_CORE_BASE_GAPS_H

#include <stddef.h>
#include <stdint.h>

/* The room behind something that is taken, which `key` is the place of. */
struct tl_gap {
	uintptr_t key, from;
	size_t room; /* bytes from `from` on; may be 0 */
	size_t most; /* of all below it, and itself */
	struct tl_gap *left, *right;
};
struct tl_gaps {
	struct tl_gap *root;
};
void tl_gap_add(struct tl_gaps *all, struct tl_gap *g); /* key, from and room are set */
void tl_gap_remove(struct tl_gaps *all, struct tl_gap *g);
void tl_gap_resize(struct tl_gaps *all, struct tl_gap *g, size_t room);
struct tl_gap *tl_gap_floor(const struct tl_gaps *all, uintptr_t key); /* greatest key <= key */
/* The lowest one of at least `size` bytes that ends behind `at`, or NULL. */
struct tl_gap *tl_gap_next(const struct tl_gaps *all, uintptr_t at, size_t size);
#ifdef TL_TEST
extern size_t tl_gap_looks; /* how often that was asked */
#endif

#endif
