/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/*
 * Functions that have no return probes because of what they are: found by
 * their names in the image's dynamic symbols, once an image as a rule. Static
 * programs have none; there the caller's name for a function counts.
 */
#include "../base/broken.h"
#include "dynsym.h"
#include "images.h"
#include "unpaired.h"

enum { MAX = 40, IMAGES = 4 };

/* Of the images asked about last. */
static struct known {
	uint32_t generation; /* 0: free */
	unsigned n;
	struct {
		uintptr_t at;
		uint8_t reason;
	} list[MAX];
} known[IMAGES];
static unsigned next;

static unsigned reason_at(const struct known *k, uintptr_t at)
{
	for (unsigned i = 0; i < k->n; i++)
		if (k->list[i].at == at)
			return k->list[i].reason;
	return TL_PAIRED;
}

static void note(struct known *k, uintptr_t at, unsigned reason)
{
	if (!at || k->n == MAX || reason_at(k, at))
		return;
	k->list[k->n].at = at;
	k->list[k->n++].reason = (uint8_t)reason;
}

/* What lazily bound images call to have a function looked up lies in the dynamic loader. */
struct loader {
	const struct tl_image *img;
	struct known *k;
};

static int note_resolver(const struct tl_image *img, void *arg)
{
	const struct loader *l = arg;
	const struct tl_dynamic *d = tl_dynamic_of(img);
	uintptr_t at = d ? tl_dynamic_resolver(d) : 0;

	if (at - l->img->lo < l->img->hi - l->img->lo)
		note(l->k, at, TL_UNPAIRED_LINKER);
	return 0;
}

/* No table of pointers: the agent runs where it is mapped. */
static void learn(const struct tl_image *img, struct known *k)
{
	struct loader l = {img, k};
	const struct tl_dynamic *d = tl_dynamic_of(img);

	k->n = 0;
	if (!d)
		return;
#define UNPAIRED(name, tag) note(k, tl_dynamic_symbol(d, #name), TL_UNPAIRED_##tag);
#include "unpaired.def"
	tl_images_each(note_resolver, &l);
}

unsigned tl_ret_forbidden(uintptr_t entry)
{
	const struct tl_image *img = tl_image_find(entry);
	uint32_t generation = tl_image_generation(entry);
	struct known *k;

	TL_ASSERT_HELD();
	if (!img)
		return TL_PAIRED;
	for (unsigned i = 0; i < IMAGES; i++)
		if (known[i].generation == generation)
			return reason_at(&known[i], entry);
	k = &known[next++ % IMAGES];
	k->generation = generation;
	learn(img, k);
	return reason_at(k, entry);
}

static bool same(const char *a, const char *b)
{
	while (*a && *a == *b)
		a++, b++;
	return *a == *b;
}

unsigned tl_ret_forbidden_name(const char *name)
{
#define UNPAIRED(other, tag)                                                                       \
	if (same(name, #other))                                                                    \
		return TL_UNPAIRED_##tag;
#include "unpaired.def"
	return TL_PAIRED;
}
