/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
#include "sparse.h"
#include "../../os/os.h"
#include "mem.h"

static size_t pages_for(size_t n, uint8_t shift)
{
	return (n + ((size_t)1 << shift) - 1) >> shift;
}

/* As many as go into a page. */
static uint8_t shift_for(size_t step, size_t page)
{
	uint8_t shift = 0;

	while ((step << (shift + 1)) <= page)
		shift++;
	return shift;
}

/* A home that has no pages to give has memory that is sparse by itself; and larger elements are a piece. */
static bool is_flat(size_t step)
{
	return step > tl_os_page_size();
}

size_t tl_sparse_size(size_t step, size_t n)
{
	return is_flat(step) ? step * n
			     : pages_for(n, shift_for(step, tl_os_page_size())) * sizeof(uint8_t *);
}

void tl_sparse_init(struct tl_sparse *s, void *mem, size_t step, size_t n)
{
	*s = (struct tl_sparse){.step = step};
	if (is_flat(step)) {
		s->flat = mem;
		return;
	}
	s->shift = shift_for(step, tl_os_page_size());
	s->npages = pages_for(n, s->shift);
	s->pages = mem;
	tl_os_page_stock();
	tl_sparse_make(s, 0);
}

void tl_sparse_deinit(struct tl_sparse *s)
{
	for (size_t n = 0; n < s->npages; n++)
		if (s->pages[n]) {
			tl_fill(s->pages[n], 0, tl_os_page_size());
			if (!tl_os_page_give(s->pages[n]))
				tl_os_page_free(s->pages[n]);
		}
	*s = (struct tl_sparse){0};
}

void *tl_sparse_make(struct tl_sparse *s, size_t i)
{
	void *element = tl_sparse_at(s, i);
	uint8_t *none = NULL, *page;

	if (element)
		return element;
	page = tl_os_page_take();
	if (page && !TL_CAS(&s->pages[i >> s->shift], &none, page))
		(void)tl_os_page_give(
			page); /* somebody else was faster; the home knows all its pages */
	return tl_sparse_at(s, i);
}

size_t tl_sparse_index(const struct tl_sparse *s, const void *element)
{
	const uint8_t *at = element;

	if (s->flat)
		return (size_t)(at - s->flat) / s->step;
	for (size_t n = 0; n < s->npages; n++) {
		const uint8_t *page = TL_LOAD(&s->pages[n]);

		if (page && at - page >= 0 && (size_t)(at - page) < s->step << s->shift)
			return (n << s->shift) + (size_t)(at - page) / s->step;
	}
	return 0; /* no element */
}
