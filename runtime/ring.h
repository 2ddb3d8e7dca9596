/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/*
 * Places in a ring of records, for who writes it and who reads it. See wire.h:
 * chunks 0 and 1 lie in the thread's block, the others in the pool.
 */
#ifndef TRAPLESS_RUNTIME_RING_H
#define TRAPLESS_RUNTIME_RING_H

#include "mem.h"
#include "session.h"

enum {
	TL_OWN_CHUNKS = 2, /* of a block */
	TL_LINK = sizeof(
		struct tl_record), /* bytes: every chunk has room for one behind its records */
};

static inline uintptr_t tl_chunk_start(const struct tl_view *v, uintptr_t chunk)
{
	return chunk << v->chunk_shift;
}

/*
 * Where in memory is that, and how many bytes are left to the chunk's end? Both
 * words are shared: they may be anything. NULL: nowhere.
 */
static inline uint8_t *tl_place_at(
	const struct tl_view *v, struct tl_block *b, uintptr_t where, uint32_t *left)
{
	uint32_t off = (uint32_t)where & (v->chunk_size - 1), size = v->own_size;
	uintptr_t chunk = where >> v->chunk_shift;
	uint8_t *at;

	if (tl_likely(chunk >= TL_OWN_CHUNKS)) {
		if (tl_unlikely(chunk - TL_OWN_CHUNKS >= v->nchunks))
			return NULL;
		at = v->chunks + tl_chunk_start(v, chunk - TL_OWN_CHUNKS);
		size = v->chunk_size;
	} else {
		at = (uint8_t *)b + v->ring_off + chunk * v->own_size;
	}
	if (tl_unlikely(off & 7 || off + TL_LINK > size))
		return NULL;
	*left = size - off;
	return at + off;
}

#endif
