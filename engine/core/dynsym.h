/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/* An image's dynamic symbols, as they lie in memory. Nothing is believed, and nothing read that may fault. */
#ifndef TRAPLESS_ENGINE_CORE_DYNSYM_H
#define TRAPLESS_ENGINE_CORE_DYNSYM_H

#include "internal.h"

struct tl_dynamic {
	uintptr_t bias, symbols, strings, hash, got; /* addresses; 0: none */
};

bool tl_dynamic_read(const struct tl_image *img, struct tl_dynamic *d);
/* The address of a function defined in this image, 0: none. Needs a DT_GNU_HASH table. */
uintptr_t tl_dynamic_symbol(const struct tl_dynamic *d, const char *name);
/* Where entries of its linkage table go that are not looked up yet, 0: nowhere. */
uintptr_t tl_dynamic_resolver(const struct tl_dynamic *d);

#endif
