/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/* Small objects of one size. */
#ifndef TRAPLESS_ENGINE_CORE_BASE_SLAB_H
#define TRAPLESS_ENGINE_CORE_BASE_SLAB_H

#include <stddef.h>
#include <stdint.h>

struct tl_slab {
	size_t size;
	void *free;
	uint8_t *untouched; /* the rest of the last chunk */
	size_t left;
	struct tl_slab_chunk *chunks;
};
void *tl_slab_get(struct tl_slab *s); /* zeroed, NULL: no memory */
void tl_slab_put(struct tl_slab *s, void *obj);
void tl_slab_deinit(struct tl_slab *s);

#endif
