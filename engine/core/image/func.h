/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/* Parts of functions, with what is known of them. */
#ifndef TRAPLESS_ENGINE_CORE_IMAGE_FUNC_H
#define TRAPLESS_ENGINE_CORE_IMAGE_FUNC_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include "../../arch/arch.h"
#include "image.h"
#include "images.h"

/* The function part under analysis; one is cached during a batch. */
struct tl_func {
	struct tl_code code;
	struct tl_func *behind; /* memory for the part behind this one; NULL: nobody asks for it */
	bool last; /* there is none */
	void *mem;
	size_t mem_size;
	bool valid;
	uint32_t as_of; /* tl_images_state when it was walked */
};
enum { TL_FUNC_PADS = 1024 }; /* at most, of one part */
extern struct tl_func tl_func_now; /* the one under analysis */
/* Walked, and of the images as they are. */
static inline bool tl_func_is_valid(const struct tl_func *f)
{
	return f->valid && f->as_of == tl_images_state;
}
/* Does an instruction begin there, in a part that is walked? */
static inline bool tl_func_has_insn(const struct tl_func *f, uintptr_t addr)
{
	const size_t bit = addr - f->code.start;

	return addr >= f->code.start && bit < f->code.size &&
	       (f->code.boundary[bit / 8] >> bit % 8 & 1);
}
/* The part that holds addr, walked. start/size: bounds from the caller, or 0. */
int tl_func_get(struct tl_func *f, uintptr_t addr, uintptr_t start, size_t size);
/* Only copies and walks [start, start + size), in front of the function at `next`: no pads. 0 or -TL_E_. */
int tl_func_walk(uintptr_t start, size_t size, uintptr_t next, const struct tl_code **code);
/* walk.c: copies it without walking it, `after` bytes behind it too. 0 or -TL_E_. */
int tl_func_load(struct tl_func *f, uintptr_t start, size_t size, size_t after);
/* The same part, if it has been walked for others and nothing leads into it from elsewhere. */
bool tl_func_take_kept(struct tl_func *f, uintptr_t start, size_t size);
/* Bytes behind a part that may be padding, in front of the function at `next`. */
size_t tl_func_padding(uintptr_t end, uintptr_t next);
void tl_func_forget(struct tl_func *f);
void tl_funcs_init(void);
void tl_funcs_deinit(void);
/*
 * Adds to the sorted pads[0..*npads) the places in [lo, hi) where other parts
 * of the image jump to. 0, or -TL_E_LIMIT when not all are known.
 */
int tl_image_entries(const struct tl_image *img, uintptr_t lo, uintptr_t hi, uintptr_t *pads,
	size_t max, size_t *npads);
/* A jump from elsewhere to target is known otherwise: from a part that no table lists. */
void tl_image_note_entry(void *arg, uintptr_t target);

#endif
