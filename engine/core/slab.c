/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/* Equal-sized small objects out of pages. Engine lock held. */
#include "internal.h"

enum { CHUNK = 16384, ALIGN = 16 };

struct chunk {
	struct chunk *next;
};

static void carve(struct tl_slab *s, struct chunk *c)
{
	size_t step = (s->size + ALIGN - 1) & ~(size_t)(ALIGN - 1);
	size_t at;

	c->next = s->chunks;
	s->chunks = c;
	for (at = ALIGN; at + step <= CHUNK; at += step) {
		void **obj = (void **)((uint8_t *)c + at);

		*obj = s->free;
		s->free = obj;
	}
}

void *tl_slab_get(struct tl_slab *s)
{
	void *obj;

	if (!s->free) {
		struct chunk *c = tl_os_alloc(CHUNK);

		if (!c)
			return NULL;
		carve(s, c);
	}
	obj = s->free;
	s->free = *(void **)obj;
	tl_fill(obj, 0, s->size);
	return obj;
}

void tl_slab_put(struct tl_slab *s, void *obj)
{
	*(void **)obj = s->free;
	s->free = obj;
}

void tl_slab_deinit(struct tl_slab *s)
{
	struct chunk *c = s->chunks, *next;

	for (; c; c = next) {
		next = c->next;
		tl_os_free(c, CHUNK);
	}
	s->chunks = s->free = NULL;
}
