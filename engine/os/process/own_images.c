/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/* The list of images, read anew by who lives in the process: what is not seen again is forgotten. */
#include "../../core/image.h"
#include "own.h"

enum { IMAGES = 1024 };

struct look {
	uintptr_t seen[IMAGES]; /* lowest addresses */
	size_t n;
};

static struct look looks[2]; /* this one and the last one; engine lock */
static struct look *now = &looks[0];

static bool seen_in(const struct look *l, uintptr_t lo)
{
	size_t i;

	for (i = 0; i < l->n; i++) {
		if (l->seen[i] == lo)
			return true;
	}
	return false;
}

void tl_own_images_begin(void)
{
	now = &looks[now == &looks[0]];
	now->n = 0;
}

int tl_own_images_see(const struct tl_image *img)
{
	if (now->n == IMAGES)
		return -TL_E_LIMIT;
	now->seen[now->n++] = img->lo;
	return tl_image_add(img);
}

void tl_own_images_end(void)
{
	const struct look *last = &looks[now == &looks[0]];
	size_t i;

	for (i = 0; i < last->n; i++) {
		if (!seen_in(now, last->seen[i]))
			tl_image_remove(last->seen[i]);
	}
}
