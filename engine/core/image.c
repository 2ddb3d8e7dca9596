/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/* Mapped images and the functions in them. */
#include "entries.h"

struct image {
	struct tl_image img; /* first: see tl_entries_of() */
	struct tl_entries entries;
	struct image *next;
	uint32_t generation;
	bool seen; /* by the update under way, or the last one */
};

static struct image *images;
static uint32_t generation;
static bool changed;
static struct tl_slab slab = {.size = sizeof(struct image)};

struct tl_entries *tl_entries_of(const struct tl_image *img)
{
	return &((struct image *)(uintptr_t)img)->entries;
}

static void renew(struct image *im)
{
	tl_entries_forget(&im->entries);
	tl_func_forget(&tl_core.func);
	im->generation = ++generation;
}

int tl_image_add(const struct tl_image *img)
{
	struct image *im;

	TL_ASSERT_HELD();
	for (im = images; im; im = im->next)
		if (im->img.lo == img->lo)
			break;
	if (im && im->img.hi == img->hi && im->img.bias == img->bias &&
		im->img.eh_frame_hdr == img->eh_frame_hdr &&
		tl_equal(im->img.name, img->name, sizeof(img->name))) {
		im->img = *img;
		im->seen = true;
		return 0;
	}
	if (im) {
		im->img = *img;
		im->seen = true;
		renew(im);
		changed = true;
		return 0;
	}
	im = tl_slab_get(&slab);
	if (!im)
		return -TL_E_NOMEM;
	im->img = *img;
	im->seen = true;
	im->generation = ++generation;
	im->next = images;
	images = im;
	return 0;
}

static void forget(struct image **link)
{
	struct image *im = *link;

	*link = im->next;
	changed = true;
	tl_entries_forget(&im->entries);
	tl_slab_put(&slab, im);
	tl_func_forget(&tl_core.func);
}

void tl_image_remove(uintptr_t lo)
{
	struct image **link;

	TL_ASSERT_HELD();
	for (link = &images; *link; link = &(*link)->next)
		if ((*link)->img.lo == lo) {
			forget(link);
			return;
		}
}

void tl_images_begin(void)
{
	TL_ASSERT_HELD();
	for (struct image *im = images; im; im = im->next)
		im->seen = false;
}

void tl_images_end(void)
{
	struct image **link = &images;

	TL_ASSERT_HELD();
	while (*link)
		if ((*link)->seen)
			link = &(*link)->next;
		else
			forget(link);
}

void tl_images_deinit(void)
{
	struct image *im;

	for (im = images; im; im = im->next)
		tl_entries_forget(&im->entries);
	images = NULL;
	tl_entries_deinit();
	tl_slab_deinit(&slab);
}

const struct tl_image *tl_image_find(uintptr_t addr)
{
	struct image *im;

	for (im = images; im; im = im->next)
		if (addr >= im->img.lo && addr < im->img.hi)
			return &im->img;
	return NULL;
}

int tl_images_each(int (*fn)(const struct tl_image *img, void *arg), void *arg)
{
	int ret = 0;

	for (struct image *im = images; im && !ret; im = im->next)
		ret = fn(&im->img, arg);
	return ret;
}

uint32_t tl_image_generation(uintptr_t addr)
{
	const struct image *im = (const struct image *)tl_image_find(addr);

	return im ? im->generation : 0;
}

void tl_image_renew(uintptr_t addr)
{
	struct image *im = (struct image *)(uintptr_t)tl_image_find(addr);

	if (im)
		renew(im);
}

bool tl_images_changed(void)
{
	bool was = changed;

	changed = false;
	return was;
}
