/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/* Where probes are refused before an instruction is even looked at. Engine lock held. */
#ifndef TRAPLESS_ENGINE_CORE_IMAGE_REFUSE_H
#define TRAPLESS_ENGINE_CORE_IMAGE_REFUSE_H

#include <stdint.h>
#include "image.h"

/* All that are mapped now. Once an operation: whoever comes again and again with what is no text makes nobody look anew. */
int tl_images_ask(void);
/* Of text where a probe may stand: its image. 0 or -TL_E_. */
int tl_refuse_addr(uintptr_t addr, const struct tl_image **img);
/* The same of a function's first instruction, when addr is where the function, or a part of one, begins. */
int tl_refuse_entry(uintptr_t addr, const struct tl_image **img);

#endif
