/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/* Names of addresses, out of a module's SYMBOLS. Used by agent and runner. Context: any. */
#ifndef TRAPLESS_HOME_SYMBOLS_H
#define TRAPLESS_HOME_SYMBOLS_H

#include <stddef.h>
#include <stdint.h>
#include <trapless/wire.h>

/*
 * Where one of the module's images is mapped. lo == hi: nowhere. Of a table the first rows are those of the images, in
 * their order; behind them are others for further copies of any.
 */
struct tl_symbol_image {
	uint64_t bias, lo, hi;
	uint32_t path; /* STRINGS */
	uint32_t image;
};

enum { TL_IMAGE_COPIES = 64 };
static inline uint64_t tl_symbol_rows(uint64_t nimages)
{
	return nimages + TL_IMAGE_COPIES;
}

struct tl_symbols {
	const char *strings;
	uint64_t strings_size;
	const struct tl_tap_symbol *symbols; /* sorted by image, addr */
	uint64_t nsymbols;
	const struct tl_tap_line *lines; /* likewise */
	uint64_t nlines;
	const struct tl_symbol_image *images;
	uint64_t nrows; /* of images[] */
};

/* The image that is mapped there, or NULL. */
const struct tl_symbol_image *tl_symbol_image_at(
	const struct tl_symbol_image *images, uint64_t n, uint64_t addr);
/* As tl_view_ops.symbol, .image and .line. */
uint32_t tl_symbol_name(const struct tl_symbols *s, uint64_t addr, char *buf, uint32_t room,
	uint64_t *offset, uint64_t *size);
uint32_t tl_symbol_image(const struct tl_symbols *s, uint64_t addr, char *buf, uint32_t room);
uint32_t tl_symbol_line(
	const struct tl_symbols *s, uint64_t addr, char *buf, uint32_t room, uint32_t *line);

#endif
