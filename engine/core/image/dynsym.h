/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/* An image's dynamic symbols, as they lie in memory. Nothing is believed, and nothing read that may fault. */
#ifndef TRAPLESS_ENGINE_CORE_DYNSYM_H
#define TRAPLESS_ENGINE_CORE_DYNSYM_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include "image.h"

struct tl_dynamic {
	uintptr_t bias, symbols, strings, hash, got, calls; /* addresses; 0: none */
	size_t calls_size; /* bytes of relocations of its linkage table */
};

bool tl_dynamic_read(const struct tl_image *img, struct tl_dynamic *d);
/* The same of an image that is known, read once. NULL: there is none. Engine lock held. */
const struct tl_dynamic *tl_dynamic_of(const struct tl_image *img);
/* The address of a function defined in this image, 0: none. Needs a DT_GNU_HASH table. */
uintptr_t tl_dynamic_symbol(const struct tl_dynamic *d, const char *name);
/* Where entries of its linkage table go that are not looked up yet, 0: nowhere. */
uintptr_t tl_dynamic_resolver(const struct tl_dynamic *d);
/* All of a name that are defined in this image. `chooses`: a function that will tell which one is to be called (IFUNC). */
void tl_dynamic_each(const struct tl_dynamic *d, const char *name,
	void (*fn)(void *arg, uintptr_t at, bool chooses), void *arg);
/* What the entry of its linkage table is called that has this number and this word. "": unknown, or too long. */
void tl_dynamic_called(
	const struct tl_dynamic *d, uint32_t number, uintptr_t slot, char *name, size_t max);
/* What this function of the image has chosen for the image's own calls, 0: there are none. */
uintptr_t tl_dynamic_chosen(const struct tl_dynamic *d, uintptr_t chooser);

/*
 * bind.c: where the loader will lead calls that now go to `stub`, for a word `slot` that it has not filled in yet.
 * Whom it asks first is not known: fn hears of all that are possible, the likeliest first. Engine lock held.
 */
void tl_bind_foretell(uintptr_t stub, uintptr_t slot, uint32_t number,
	void (*fn)(void *arg, uintptr_t to), void *arg);

#endif
