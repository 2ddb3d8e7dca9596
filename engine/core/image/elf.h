/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/* Program headers of a loaded image, as they lie in memory, in the process' own width and byte order. */
#ifndef TRAPLESS_ENGINE_CORE_ELF_H
#define TRAPLESS_ENGINE_CORE_ELF_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include "image.h"

struct tl_segment {
	uint32_t type; /* PT_ */
	uintptr_t at; /* in memory */
	size_t size;
};
/* Until fn returns false; true: it did not. Nothing is believed, and nothing read that may fault. */
bool tl_elf_segments(
	const struct tl_image *img, bool (*fn)(void *arg, const struct tl_segment *s), void *arg);

#endif
