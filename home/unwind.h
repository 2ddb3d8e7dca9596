/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/* How to find callers, out of a module's UNWIND. Context: any. */
#ifndef TRAPLESS_HOME_UNWIND_H
#define TRAPLESS_HOME_UNWIND_H

#include <stdint.h>
#include <trapless/wire.h>

struct tl_symbol_image;

struct tl_unwind {
	const struct tl_tap_unwind *of_image;
	const struct tl_tap_row *rows;
	const struct tl_tap_frame *frames;
	const struct tl_symbol_image *images;
	uint64_t nrows; /* of images[]; 0: the script asks for no stacks */
};

/* As tl_view_ops.frame. */
const struct tl_tap_frame *tl_unwind_frame(const struct tl_unwind *u, uint64_t addr);

#endif
