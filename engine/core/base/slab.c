/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/* Equal-sized small objects out of pages: the more there are, the larger the pieces. Engine lock held. */
#include "../../os/os.h"
#include "mem.h"
#include "slab.h"

enum { CHUNK_MIN = 16384, CHUNK_MAX = 2 << 20, ALIGN = 16 };

struct tl_slab_chunk {
	struct tl_slab_chunk *next;
	size_t size;
};

_Static_assert(sizeof(struct tl_slab_chunk) <= ALIGN, "objects begin behind it");

static bool grow(struct tl_slab *s)
{
	size_t size = s->chunks ? 4 * s->chunks->size : CHUNK_MIN;
	struct tl_slab_chunk *c;

	size = size < CHUNK_MAX ? size : CHUNK_MAX;
	c = tl_os_alloc(size);
	if (!c)
		return false;
	*c = (struct tl_slab_chunk){s->chunks, size};
	s->chunks = c;
	s->untouched = (uint8_t *)c + ALIGN;
	s->left = size - ALIGN;
	return true;
}

/* Untouched memory is zero, and no page of it is in use. */
void *tl_slab_get(struct tl_slab *s)
{
	size_t step = (s->size + ALIGN - 1) & ~(size_t)(ALIGN - 1);
	void *obj = s->free;

	if (obj) {
		s->free = *(void **)obj;
		tl_fill(obj, 0, s->size);
		return obj;
	}
	if (s->left < step && !grow(s))
		return NULL;
	obj = s->untouched;
	s->untouched += step;
	s->left -= step;
	return obj;
}

void tl_slab_put(struct tl_slab *s, void *obj)
{
	*(void **)obj = s->free;
	s->free = obj;
}

void tl_slab_deinit(struct tl_slab *s)
{
	struct tl_slab_chunk *c = s->chunks, *next;

	for (; c; c = next) {
		next = c->next;
		tl_os_free(c, c->size);
	}
	*s = (struct tl_slab){.size = s->size};
}
