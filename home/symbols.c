/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
#include "symbols.h"

_Static_assert(!offsetof(struct tl_tap_symbol, addr) && !offsetof(struct tl_tap_line, addr),
	"struct table");

static uint32_t copy_name(const struct tl_symbols *s, uint32_t at, char *buf, uint32_t room)
{
	uint32_t n = 0;

	if (!room)
		return 0;
	while (n + 1 < room && at + (uint64_t)n < s->strings_size && s->strings[at + n]) {
		buf[n] = s->strings[at + n];
		n++;
	}
	buf[n] = 0;
	return n;
}

const struct tl_symbol_image *tl_symbol_image_at(
	const struct tl_symbol_image *images, uint64_t n, uint64_t addr)
{
	uint64_t i;

	for (i = 0; i < n; i++) {
		if (addr >= images[i].lo && addr < images[i].hi)
			return &images[i];
	}
	return NULL;
}

/* Sorted by image, then by address; each row begins with its address. */
struct table {
	const void *rows;
	uint64_t n, size, image_at; /* of a row */
};

static const void *row_at(const struct table *t, uint64_t i)
{
	return (const char *)t->rows + i * t->size;
}

static uint32_t image_of(const struct table *t, uint64_t i)
{
	return *(const uint32_t *)((const char *)row_at(t, i) + t->image_at);
}

/* The last row of the image that starts at or below vaddr. */
static const void *last_below(const struct table *t, uint32_t image, uint64_t vaddr)
{
	uint64_t lo = 0, hi = t->n;

	while (lo < hi) {
		uint64_t mid = lo + (hi - lo) / 2, addr = *(const uint64_t *)row_at(t, mid);
		uint32_t of = image_of(t, mid);

		if (of < image || (of == image && addr <= vaddr))
			lo = mid + 1;
		else
			hi = mid;
	}
	return lo && image_of(t, lo - 1) == image ? row_at(t, lo - 1) : NULL;
}

uint32_t tl_symbol_name(const struct tl_symbols *s, uint64_t addr, char *buf, uint32_t room,
	uint64_t *offset, uint64_t *size)
{
	const struct tl_symbol_image *img = tl_symbol_image_at(s->images, s->nrows, addr);
	const struct table t = {s->symbols, s->nsymbols, sizeof(struct tl_tap_symbol),
		offsetof(struct tl_tap_symbol, image)};
	const struct tl_tap_symbol *sym = img ? last_below(&t, img->image, addr - img->bias) : NULL;

	if (!sym || (sym->size && addr - img->bias - sym->addr >= sym->size))
		return 0;
	*offset = addr - img->bias - sym->addr;
	*size = sym->size;
	return copy_name(s, sym->name, buf, room);
}

uint32_t tl_symbol_image(const struct tl_symbols *s, uint64_t addr, char *buf, uint32_t room)
{
	const struct tl_symbol_image *img = tl_symbol_image_at(s->images, s->nrows, addr);

	return img ? copy_name(s, img->path, buf, room) : 0;
}

uint32_t tl_symbol_line(
	const struct tl_symbols *s, uint64_t addr, char *buf, uint32_t room, uint32_t *line)
{
	const struct tl_symbol_image *img = tl_symbol_image_at(s->images, s->nrows, addr);
	const struct table t = {s->lines, s->nlines, sizeof(struct tl_tap_line),
		offsetof(struct tl_tap_line, image)};
	const struct tl_tap_line *l = img ? last_below(&t, img->image, addr - img->bias) : NULL;

	if (!l || l->file == TL_NONE)
		return 0;
	*line = l->line;
	return copy_name(s, l->file, buf, room);
}
