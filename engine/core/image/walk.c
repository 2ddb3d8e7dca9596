/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/* Copies of functions' original bytes, walked: the memory for them, and those that are kept. */
#include "../../os/os.h"
#include "../base/mem.h"
#include "../text/patch.h"
#include "func.h"
#include "images.h"

enum {
	SLACK = 32,
	SHARED = 16,
	GAP_MAX = 63,
	FUNC_MAX = 64 << 20,
	KEPT = 32,
	KEPT_SIZE = 4096,
	KEPT_ALIGN = 16,
};

/* Neighbours that were walked for their jumps: the small ones are kept, their own turn may come. */
static struct tl_func kept[KEPT], large;

struct tl_func tl_func_now;
static struct tl_func behind[2]; /* the parts behind it */

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

static void deinit(struct tl_func *f)
{
	if (f->behind)
		deinit(f->behind);
	if (f->mem)
		tl_os_free(f->mem, f->mem_size);
	f->mem = NULL;
	f->mem_size = 0;
	f->valid = false;
}

void tl_funcs_deinit(void)
{
	for (unsigned i = 0; i < KEPT; i++)
		deinit(&kept[i]);
	deinit(&large);
	deinit(&tl_func_now);
}

void tl_funcs_init(void)
{
	tl_func_now.behind = &behind[0];
	behind[0].behind = &behind[1];
}

/* Layout of mem: pads, boundary bits, target bits, text. */
static int room(struct tl_func *f, size_t bytes)
{
	size_t bits = (bytes + SLACK) / 8 + 8;
	size_t need = TL_FUNC_PADS * sizeof(uintptr_t) + 2 * bits + bytes + SLACK;
	uint8_t *m;

	if (need > f->mem_size) {
		size_t size = f->mem_size ? f->mem_size : 65536;

		while (size < need)
			size *= 2;
		m = tl_os_alloc(size);
		if (!m)
			return -TL_E_NOMEM;
		deinit(f);
		f->mem = m;
		f->mem_size = size;
	}
	m = f->mem;
	f->code.pads = (uintptr_t *)(void *)m;
	f->code.boundary = m + TL_FUNC_PADS * sizeof(uintptr_t);
	f->code.target = f->code.boundary + bits;
	f->code.text = f->code.target + bits;
	tl_fill(f->code.boundary, 0, 2 * bits + bytes + SLACK);
	return 0;
}

int tl_func_load(struct tl_func *f, uintptr_t start, size_t size, size_t after)
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
	f->code.run_stopped = tl_os_stop_sync();
	f->code.behind = NULL;
	f->last = false;
	f->code.indirect = f->code.complete = f->code.hidden_pads = false;
	return 0;
}

/*
 * The gap to the next known function is alignment only if it is small and
 * ends aligned; the port checks that it holds nothing but padding.
 */
size_t tl_func_padding(uintptr_t end, uintptr_t next)
{
	return next > end && next - end <= GAP_MAX && !(next & 15) ? next - end : 0;
}

int tl_func_walk(uintptr_t start, size_t size, uintptr_t next, const struct tl_code **code)
{
	struct tl_func *f = keeper(start, size);
	int ret = tl_func_load(f, start, size, tl_func_padding(start + size, next));

	if (ret)
		return ret;
	f->valid = !tl_arch_code_walk(&f->code);
	f->as_of = tl_images_state;
	*code = &f->code;
	return 0;
}

/* The same part, if it has been walked and nothing leads into it from elsewhere. */
bool tl_func_take_kept(struct tl_func *f, uintptr_t start, size_t size)
{
	struct tl_func *k = keeper(start, size), spare = *f;

	if (!tl_func_is_valid(k) || k->code.start != start || k->code.size != size)
		return false;
	*f = *k;
	f->behind = spare.behind;
	f->code.behind = NULL;
	spare.valid = false;
	spare.behind = NULL;
	*k = spare;
	return true;
}
