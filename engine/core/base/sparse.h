/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/*
 * An array, zeroed, of which little is ever used. In a process memory takes no room until it is touched; in a kernel it
 * is made page by page, by handlers too.
 */
#ifndef TRAPLESS_ENGINE_CORE_BASE_SPARSE_H
#define TRAPLESS_ENGINE_CORE_BASE_SPARSE_H

#include <stddef.h>
#include <stdint.h>

struct tl_sparse {
	uint8_t *flat; /* all of it, or NULL: */
	uint8_t **pages; /* of 1 << shift elements each; NULL: nobody has used one of them */
	size_t step, npages;
	uint8_t shift;
};

/* Bytes that its owner has for it, zeroed. */
size_t tl_sparse_size(size_t step, size_t n);
/* In these; element 0 is there, if there is any memory. step: a multiple of 8. Sleeps. */
void tl_sparse_init(struct tl_sparse *s, void *mem, size_t step, size_t n);
/* What it has made goes back; not what its owner has. Nobody uses it. */
void tl_sparse_deinit(struct tl_sparse *s);

/* Element i is there; NULL: there is no memory. Any context. */
void *tl_sparse_make(struct tl_sparse *s, size_t i);
/* Element i; NULL: nobody has made it. Any context. */
static inline void *tl_sparse_at(const struct tl_sparse *s, size_t i)
{
	uint8_t *page;

	if (s->flat)
		return s->flat + i * s->step;
	page = __atomic_load_n(&s->pages[i >> s->shift], __ATOMIC_ACQUIRE);
	return page ? page + (i & ((1u << s->shift) - 1)) * s->step : NULL;
}
/* Which one that is. */
size_t tl_sparse_index(const struct tl_sparse *s, const void *element);

#endif
