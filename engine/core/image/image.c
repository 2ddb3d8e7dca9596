/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/* Mapped images and the functions in them. */
#include "../base/broken.h"
#include "../base/mem.h"
#include "../base/slab.h"
#include "images.h"

struct image {
	struct tl_image img; /* first: see tl_image_kept() */
	struct tl_image_kept kept[TL_KEEPERS];
	struct image *next;
	uint32_t generation;
	bool seen; /* by the update under way, or the last one */
};

static struct image *images;
static uint32_t generation;
static bool changed;
uint32_t tl_images_state;
static struct tl_slab slab = {.size = sizeof(struct image)};

struct tl_image_kept *tl_image_kept(const struct tl_image *img, enum tl_image_keeper who)
{
	return &((struct image *)(uintptr_t)img)->kept[who];
}

static void forget_kept(struct image *im)
{
	for (unsigned i = 0; i < TL_KEEPERS; i++) {
		if (im->kept[i].forget)
			im->kept[i].forget(im->kept[i].what);
		im->kept[i].forget = NULL;
	}
}

static void look_anew(struct image *im)
{
	forget_kept(im);
	tl_images_state++;
}

static void renew(struct image *im)
{
	look_anew(im);
	im->generation = ++generation;
}

/* A program may protect a part of its text, or show more of it: it is the same image. */
static bool same_file(const struct tl_image *a, const struct tl_image *b)
{
	return a->bias == b->bias && a->eh_frame_hdr == b->eh_frame_hdr && a->lo < b->hi &&
	       b->lo < a->hi && tl_equal(a->name, b->name, sizeof(a->name));
}

static struct image *known(const struct tl_image *img)
{
	struct image *im;

	for (im = images; im; im = im->next)
		if (same_file(&im->img, img))
			return im;
	for (im = images; im && im->img.lo != img->lo; im = im->next)
		;
	return im;
}

static void replace(struct image *im, const struct tl_image *img)
{
	bool same = same_file(&im->img, img),
	     as_long = im->img.lo == img->lo && im->img.hi == img->hi;

	im->img = *img;
	if (same && as_long)
		return;
	changed = true;
	if (same)
		look_anew(im);
	else
		renew(im);
}

int tl_image_add(const struct tl_image *img)
{
	struct image *im;

	TL_ASSERT_HELD();
	im = known(img);
	if (im) {
		replace(im, img);
		im->seen = true;
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
	look_anew(im);
	tl_slab_put(&slab, im);
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
		look_anew(im);
	images = NULL;
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
