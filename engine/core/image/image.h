/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/* Mapped executables and libraries, and the functions in them. */
#ifndef TRAPLESS_ENGINE_CORE_IMAGE_H
#define TRAPLESS_ENGINE_CORE_IMAGE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <trapless/probe.h>

enum tl_image_flag {
	TL_IMAGE_EARLY =
		1
		<< 0, /* code may run before the thread pointer is set: dynamic loader, static program */
	TL_IMAGE_SELF = 1 << 1, /* our own code: never probed */
	TL_IMAGE_VDSO = 1 << 2,
	TL_IMAGE_SMALL_STACKS =
		1
		<< 4, /* of a few hundred bytes, and grown by the program (Go's): handlers have their own */
	TL_IMAGE_NO_RED_ZONE = 1 << 5, /* its code uses nothing below the stack pointer */
	/* no unwind tables: tl_os_functions() lists functions, and eh_frame_hdr is an address near by */
	TL_IMAGE_LISTED = 1 << 3,
	TL_IMAGE_BARE_FRAMES = 1 << 6, /* no search table: eh_frame_hdr is where .eh_frame itself lies */
};

/* A note of the file that libtrapless is linked into: 4 bytes, how far behind them lies a word that is not 0 while it is used. */
#define TL_NOTE_NAME	    "trapless"
#define TL_NOTE_ENGINE	    1
#define TL_NOTE_ENGINE_TEXT "1"

struct tl_image {
	uintptr_t bias; /* address of ELF vaddr 0 */
	uintptr_t lo, hi; /* executable range */
	uintptr_t eh_frame_hdr; /* address in memory, 0: none */
	size_t eh_frame_hdr_size;
	uint32_t flags;
	char name[60]; /* base name, for messages */
};

/* Engine lock held. Tables are copied. */
int tl_image_add(const struct tl_image *img);
void tl_image_remove(uintptr_t lo);
/* A whole list anew: images that are not added between these two are gone. */
void tl_images_begin(void);
void tl_images_end(void);
const struct tl_image *tl_image_find(uintptr_t addr);
int tl_images_each(int (*fn)(const struct tl_image *img, void *arg), void *arg);

#endif
