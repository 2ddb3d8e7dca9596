/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/* What the core asks of the images that are mapped. Engine lock held. */
#ifndef TRAPLESS_ENGINE_CORE_IMAGE_IMAGES_H
#define TRAPLESS_ENGINE_CORE_IMAGE_IMAGES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include "image.h"

/* Another number whenever anything that was known of an image is not true any more. */
extern uint32_t tl_images_state;
/* What others keep of an image: forgotten with it, or when its text has changed. */
enum tl_image_keeper { TL_KEEPS_ENTRIES, TL_KEEPS_ROOMS, TL_KEEPS_HOOKS, TL_KEEPERS };
struct tl_image_kept {
	void (*forget)(void *what); /* leaves zeros; NULL: nothing is kept */
	uint64_t what[32]; /* the keeper's, zeros at first */
};
struct tl_image_kept *tl_image_kept(const struct tl_image *img, enum tl_image_keeper who);
/* Another number whenever another image, or the same one again, is found at that place; 0: none. */
uint32_t tl_image_generation(uintptr_t addr);
/* What is known of this image's text is out of date. */
void tl_image_renew(uintptr_t addr);
/* Has an image gone, or been replaced, since this was asked last? */
bool tl_images_changed(void);
void tl_images_deinit(void);

#endif
