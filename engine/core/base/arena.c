/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/*
 * Objects of any size of which little is ever touched (a return probe has a slot
 * for each thread there could be), packed into large pieces: a mapping for each
 * would exhaust the kernel's limit. A piece goes back when its last object does.
 * Engine lock held.
 */
#include "../../os/os.h"
#include "arena.h"

/* Where memory is there without being touched, pieces are small. */
enum { PIECE_MAX = 64 << 20, PIECE_MAX_DENSE = 1 << 20, ALIGN = 16 };

struct piece {
	struct piece *next;
	size_t size, used, live;
};

/* Before each object. */
struct head {
	struct piece *piece;
};

_Static_assert(sizeof(struct piece) % ALIGN == 0, "objects begin behind it");
_Static_assert(sizeof(struct head) <= ALIGN, "stands before each object");

static struct piece *newest;

/* The more there are, the larger: of a size that holds one object at least. */
static struct piece *grow(size_t need)
{
	size_t size = newest ? 4 * newest->size : 0;
	size_t max = tl_os_page_size() ? PIECE_MAX_DENSE : PIECE_MAX;
	struct piece *p;

	need += sizeof(*p);
	size = size < max ? size : max;
	size = size > need ? size : need;
	p = tl_os_alloc_sparse(size);
	if (!p && size > need)
		p = tl_os_alloc_sparse(size = need);
	if (!p)
		return NULL;
	*p = (struct piece){newest, size, sizeof(*p), 0};
	newest = p;
	return p;
}

void *tl_arena_get(size_t size)
{
	size_t step = ((size + ALIGN - 1) & ~(size_t)(ALIGN - 1)) + ALIGN;
	struct piece *p = newest;
	uint8_t *obj;

	if ((!p || p->size - p->used < step) && !(p = grow(step)))
		return NULL;
	obj = (uint8_t *)p + p->used + ALIGN;
	((struct head *)(void *)(obj - ALIGN))->piece = p;
	p->used += step;
	p->live++;
	return obj;
}

void tl_arena_put(void *obj)
{
	struct piece *p = ((struct head *)(void *)((uint8_t *)obj - ALIGN))->piece, **link;

	if (--p->live)
		return;
	for (link = &newest; *link != p; link = &(*link)->next)
		;
	*link = p->next;
	tl_os_free(p, p->size);
}

void tl_arena_deinit(void)
{
	struct piece *p = newest, *next;

	for (; p; p = next) {
		next = p->next;
		tl_os_free(p, p->size);
	}
	newest = NULL;
}
