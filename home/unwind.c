/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
#include "unwind.h"
#include "symbols.h"

/* The last row at or below `at`; without a branch that goes either way. */
static const struct tl_tap_row *row_of(
	const struct tl_unwind *u, const struct tl_tap_unwind *t, uint32_t at)
{
	const struct tl_tap_row *row = u->rows + t->first_row;
	uint32_t n = t->nrows;

	if (!n || row->at > at)
		return NULL;
	while (n > 1) {
		uint32_t half = n / 2;

		row += row[half].at <= at ? half : 0;
		n -= half;
	}
	return row;
}

const struct tl_tap_frame *tl_unwind_frame(const struct tl_unwind *u, uint64_t addr)
{
	const struct tl_symbol_image *img = tl_symbol_image_at(u->images, u->nrows, addr);
	const struct tl_tap_unwind *own;
	const struct tl_tap_row *row;
	uint64_t at;

	if (!img)
		return NULL;
	own = &u->of_image[img->image];
	at = addr - img->bias - own->base;
	row = at <= UINT32_MAX ? row_of(u, own, (uint32_t)at) : NULL;
	return row && row->frame != TL_NONE ? &u->frames[row->frame] : NULL;
}
