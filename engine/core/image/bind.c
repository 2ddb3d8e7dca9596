/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/*
 * Functions of a linkage table that have not been called yet: where their first
 * call will lead to. The loader goes by name, version and its own order of
 * images; here all images that have the name count. Of functions that come in
 * variants (IFUNC) the loader has the program choose one. Nothing of it is run
 * here: the image's own calls tell what was chosen, or else the addresses do
 * that the choosing code has in it.
 */
#include "../base/broken.h"
#include "dynsym.h"
#include "func.h"
#include "refuse.h"

enum { LONGEST_NAME = 1024, VARIANTS = 24 };

struct search {
	const char *name;
	const struct tl_dynamic *d;
	void (*fn)(void *arg, uintptr_t to);
	void *arg;
};

struct variants {
	uintptr_t at[VARIANTS];
	unsigned n;
};

static void note(void *arg, uintptr_t at)
{
	struct variants *v = arg;

	if (v->n < VARIANTS)
		v->at[v->n++] = at;
}

/* The choosing function is done with before anybody looks at another one. */
static void take_variants(const struct search *s, uintptr_t chooser)
{
	uintptr_t chosen = tl_dynamic_chosen(s->d, chooser);
	struct variants v = {.n = 0};

	if (chosen)
		note(&v, chosen);
	else if (!tl_func_get(&tl_func_now, chooser, 0, 0))
		tl_arch_code_names(&tl_func_now.code, note, &v);
	for (unsigned i = 0; i < v.n; i++)
		s->fn(s->arg, v.at[i]);
}

static void take(void *arg, uintptr_t at, bool chooses)
{
	const struct search *s = arg;

	if (chooses)
		take_variants(s, at);
	else
		s->fn(s->arg, at);
}

static int look_in(const struct tl_image *img, void *arg)
{
	struct search s = *(const struct search *)arg;

	s.d = tl_dynamic_of(img);
	if (s.d)
		tl_dynamic_each(s.d, s.name, take, &s);
	return 0;
}

void tl_bind_foretell(uintptr_t stub, uintptr_t slot, uint32_t number,
	void (*fn)(void *arg, uintptr_t to), void *arg)
{
	static char name[LONGEST_NAME]; /* engine lock */
	const struct tl_image *img = tl_image_find(stub);
	struct search s = {.name = name, .fn = fn, .arg = arg};
	const struct tl_dynamic *d = img ? tl_dynamic_of(img) : NULL;

	TL_ASSERT_HELD();
	if (!d)
		return;
	tl_dynamic_called(d, number, slot, name, sizeof(name));
	if (name[0] && tl_images_ask() >= 0)
		tl_images_each(look_in, &s);
}
