/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/* The function part under analysis: what is known of its bounds, and of where control enters it. */
#include "../../os/os.h"
#include "../base/mem.h"
#include "../text/patch.h"
#include "ehframe.h"
#include "entries.h"
#include "func.h"
#include "images.h"
#include "refuse.h"

enum { STUB = 16 }; /* bytes of a linkage table's entry that are looked at */

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
	if (tl_func_is_valid(next) && next->code.start == end)
		return &next->code;
	f->last = tl_refuse_addr(end, &img) || tl_func_get(next, end, 0, 0) ||
		  next->code.start != end;
	return f->last ? NULL : &next->code;
}

/*
 * The unwind table takes a whole linkage table for one function, but each of its entries is called: to it belongs what
 * its caller gives.
 */
static bool is_linkage(uintptr_t start, const struct tl_func_part *part)
{
	uint8_t text[STUB];
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
	static uintptr_t pads[TL_FUNC_PADS]; /* engine lock; too much for a kernel's stack */
	uintptr_t next = 0;
	size_t npads = 0;
	bool given = start && size && addr >= start && addr - start < size;
	bool all_pads = true, hidden = false, listed;
	int ret;

	if (!img)
		return -TL_E_NOT_TEXT;
	listed = img->flags & TL_IMAGE_LISTED; /* whatever is a function */
	given = given && !listed;
	if (tl_func_is_valid(f) && addr >= f->code.start && addr - f->code.start < f->code.size &&
		(!given ||
			(start >= f->code.start && start + size <= f->code.start + f->code.size)))
		return 0;
	table = tl_entries_table(img);
	if (!table)
		return -TL_E_NOMEM;
	ret = tl_eh_function(table, addr, &part, pads, TL_FUNC_PADS, &npads, &next);
	if (ret && !part.size && !given && !listed &&
		tl_gap_proves(table, addr, &proven, &all_pads)) {
		ret = tl_eh_function(table, proven.start, &part, pads, TL_FUNC_PADS, &npads, &next);
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
	ret = tl_image_entries(img, part.start, part.start + part.size, pads, TL_FUNC_PADS, &npads);
	if (ret == -TL_E_NOMEM)
		return ret;
	if (ret)
		all_pads = false;
	if (npads || hidden || !tl_func_take_kept(f, part.start, part.size)) {
		ret = tl_func_load(
			f, part.start, part.size, tl_func_padding(part.start + part.size, next));
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
	f->code.behind = f->behind ? part_behind : NULL;
	if (!all_pads)
		f->code.complete = false;
	f->valid = true;
	f->as_of = tl_images_state;
	return 0;
}
