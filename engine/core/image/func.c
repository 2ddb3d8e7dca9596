/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/* The function part under analysis: a copy of its original bytes, walked. */
#include "entries.h"

enum {
	SLACK = 32,
	SHARED = 16,
	PADS = 1024,
	GAP_MAX = 63,
	FUNC_MAX = 64 << 20,
	KEPT = 32,
	KEPT_SIZE = 4096,
	KEPT_ALIGN = 16,
};

/* Neighbours that were walked for their jumps: the small ones are kept, their own turn may come. */
static struct tl_func kept[KEPT], large;

static struct tl_func *keeper(uintptr_t start, size_t size)
{
	return size <= KEPT_SIZE ? &kept[start / KEPT_ALIGN % KEPT] : &large;
}

void tl_func_forget(struct tl_func *f)
{
	for (; f; f = f->behind)
		f->valid = false;
	for (unsigned i = 0; i < KEPT; i++)
		kept[i].valid = false;
}

void tl_func_deinit(struct tl_func *f)
{
	if (f->behind)
		tl_func_deinit(f->behind);
	if (f->mem)
		tl_os_free(f->mem, f->mem_size);
	f->mem = NULL;
	f->mem_size = 0;
	f->valid = false;
}

void tl_funcs_deinit(void)
{
	for (unsigned i = 0; i < KEPT; i++)
		tl_func_deinit(&kept[i]);
	tl_func_deinit(&large);
}

/* Layout of mem: pads, boundary bits, target bits, text. */
static int room(struct tl_func *f, size_t bytes)
{
	size_t bits = (bytes + SLACK) / 8 + 8;
	size_t need = PADS * sizeof(uintptr_t) + 2 * bits + bytes + SLACK;
	uint8_t *m;

	if (need > f->mem_size) {
		size_t size = f->mem_size ? f->mem_size : 65536;

		while (size < need)
			size *= 2;
		m = tl_os_alloc(size);
		if (!m)
			return -TL_E_NOMEM;
		tl_func_deinit(f);
		f->mem = m;
		f->mem_size = size;
	}
	m = f->mem;
	f->code.pads = (uintptr_t *)(void *)m;
	f->code.boundary = m + PADS * sizeof(uintptr_t);
	f->code.target = f->code.boundary + bits;
	f->code.text = f->code.target + bits;
	tl_fill(f->code.boundary, 0, 2 * bits + bytes + SLACK);
	return 0;
}

/* tl_code.behind: found when it is asked for, and remembered when there is none. */
static const struct tl_code *part_behind(const struct tl_code *code)
{
	struct tl_func *f = (struct tl_func *)(void *)((uint8_t *)(uintptr_t)code -
						       offsetof(struct tl_func, code));
	struct tl_func *next = f->behind;
	uintptr_t end = code->start + code->size + code->after;
	const struct tl_image *img;

	if (f->last)
		return NULL;
	if (next->valid && next->code.start == end)
		return &next->code;
	f->last = tl_refuse_addr(end, &img) || tl_func_get(next, end, 0, 0) ||
		  next->code.start != end;
	return f->last ? NULL : &next->code;
}

static int load(struct tl_func *f, uintptr_t start, size_t size, size_t after)
{
	uint8_t *text;
	size_t got;
	int ret;

	f->valid = false;
	if (size > FUNC_MAX)
		return -TL_E_LIMIT;
	ret = room(f, size + after);
	if (ret)
		return ret;
	text = (uint8_t *)(uintptr_t)f->code.text;
	got = tl_os_text_read(start, text, size + after + SHARED);
	if (got < size)
		return -TL_E_NOT_TEXT;
	tl_patch_original(start, text, got);
	f->code.start = start;
	f->code.size = size;
	f->code.after = got - size < after ? got - size : after;
	f->code.known = got;
	f->code.npads = 0;
	f->code.read = tl_os_text_read;
	f->code.shadow_stack = tl_os_shadow_stack();
	f->code.behind = f->behind ? part_behind : NULL;
	f->last = false;
	f->code.indirect = f->code.complete = f->code.hidden_pads = false;
	return 0;
}

/*
 * The gap to the next known function is alignment only if it is small and
 * ends aligned; the port checks that it holds nothing but padding.
 */
static size_t gap(uintptr_t end, uintptr_t next)
{
	return next > end && next - end <= GAP_MAX && !(next & 15) ? next - end : 0;
}

int tl_func_walk(uintptr_t start, size_t size, uintptr_t next, const struct tl_code **code)
{
	struct tl_func *f = keeper(start, size);
	int ret = load(f, start, size, gap(start + size, next));

	if (ret)
		return ret;
	f->valid = !tl_arch_code_walk(&f->code);
	*code = &f->code;
	return 0;
}

/* The same part, if it has been walked and nothing leads into it from elsewhere. */
static bool take_kept(struct tl_func *f, uintptr_t start, size_t size)
{
	struct tl_func *k = keeper(start, size), spare = *f;

	if (!k->valid || k->code.start != start || k->code.size != size)
		return false;
	*f = *k;
	f->behind = spare.behind;
	f->code.behind = f->behind ? part_behind : NULL;
	spare.valid = false;
	spare.behind = NULL;
	*k = spare;
	return true;
}

/*
 * The unwind table takes a whole linkage table for one function, but each of its entries is called: to it belongs what
 * its caller gives.
 */
static bool is_linkage(uintptr_t start, const struct tl_func_part *part)
{
	uint8_t text[SHARED];
	size_t got;

	if (start <= part->start)
		return false;
	got = tl_os_text_read(start, text, sizeof(text));
	tl_patch_original(start, text, got);
	return tl_arch_stub_slot(text, got, start) != 0;
}

static void extend(struct tl_func_part *part, uintptr_t start, size_t size)
{
	uintptr_t lo = start < part->start ? start : part->start;
	uintptr_t hi = part->start + part->size;

	if (start + size > hi)
		hi = start + size;
	part->start = lo;
	part->size = hi - lo;
}

/*
 * Functions of the table that begin inside what the caller takes for one: they
 * are entered there. false: they begin amid its instructions, which are none.
 */
static bool mark_starts_inside(struct tl_code *code, struct tl_eh_table *t)
{
	for (size_t n = t->n ? tl_eh_upto(t, code->start) : 0; n < t->n; n++) {
		uintptr_t at = tl_eh_start(t, n) - code->start;

		if (at >= code->size)
			break;
		if (!(code->boundary[at / 8] >> at % 8 & 1))
			return false;
		code->target[at / 8] |= (uint8_t)(1 << at % 8);
	}
	return true;
}

int tl_func_get(struct tl_func *f, uintptr_t addr, uintptr_t start, size_t size)
{
	const struct tl_image *img = tl_image_find(addr);
	struct tl_eh_table *table;
	struct tl_func_part part = {0, 0}, proven;
	static uintptr_t pads[PADS]; /* engine lock; too much for a kernel's stack */
	uintptr_t next = 0;
	size_t npads = 0;
	bool given = start && size && addr >= start && addr - start < size;
	bool all_pads = true, hidden = false, opaque;
	int ret;

	if (!img)
		return -TL_E_NOT_TEXT;
	if (f->valid && addr >= f->code.start && addr - f->code.start < f->code.size &&
		(!given ||
			(start >= f->code.start && start + size <= f->code.start + f->code.size)))
		return 0;
	table = tl_entries_table(img);
	if (!table)
		return -TL_E_NOMEM;
	ret = tl_eh_function(table, addr, &part, pads, PADS, &npads, &next);
	if (ret && !part.size && !given && tl_gap_proves(table, addr, &proven, &all_pads)) {
		ret = tl_eh_function(table, proven.start, &part, pads, PADS, &npads, &next);
		ret = part.size ? ret : 0;
		part = proven;
	}
	if (ret == -TL_E_LIMIT || (ret && part.size))
		all_pads = false; /* the function is known, its pads are not */
	else if (ret && !given)
		return ret;
	hidden = ret && !part.size;
	if (given && part.size && !is_linkage(start, &part))
		extend(&part, start, size);
	else if (given)
		part = (struct tl_func_part){start, size};
	if (part.start < img->lo || part.start + part.size > img->hi)
		return -TL_E_NOT_PROVEN;
	opaque = img->flags & TL_IMAGE_OPAQUE;
	ret = opaque ? 0
		     : tl_image_entries(
			       img, part.start, part.start + part.size, pads, PADS, &npads);
	if (ret == -TL_E_NOMEM)
		return ret;
	if (ret)
		all_pads = false;
	if (npads || hidden || !take_kept(f, part.start, part.size)) {
		ret = load(f, part.start, part.size, gap(part.start + part.size, next));
		if (ret)
			return ret;
		tl_copy((void *)(uintptr_t)f->code.pads, pads, npads * sizeof(pads[0]));
		f->code.npads = npads;
		f->code.hidden_pads = hidden;
		tl_arch_code_walk(&f->code); /* what could not be decoded shows in the bitmaps */
		if (given && !mark_starts_inside(&f->code, table))
			return -TL_E_NOT_PROVEN;
	}
	if (f->code.known > img->hi - part.start)
		f->code.known = img->hi - part.start;
	f->code.indirect |= opaque;
	if (!all_pads)
		f->code.complete = false;
	f->valid = true;
	return 0;
}
