/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
#include "../../os/os.h"
#include "../base/mem.h"
#include "elf.h"
#include "hooks.h"
#include "images.h"

enum {
	PT_NOTE = 4,
	NOTE_HOOK = 0x484b, /* as <trapless/hook.h> writes them */
	NOTE_SITE = 0x4854,
	NAME = sizeof(TL_NOTE_NAME),
	HEAD = 12, /* of a note: sizes of name and contents, type */
	HOOK_WORDS = 4,
	SITE_WORDS = 4,
	FORM_NOP = 1,
	FORM_JUMP = 2,
	TABLE_MAX = 256 << 20, /* bytes; larger is no table of hooks */
};

/* --- one row ------------------------------------------------------------------- */

struct bytes {
	const uint8_t *at, *end;
};

static uint32_t word_at(const uint8_t *p)
{
	uint32_t w;

	tl_copy(&w, p, sizeof(w));
	return w;
}

/* A string that ends in there, or NULL. */
static const char *take_string(struct bytes *b)
{
	const uint8_t *from = b->at;

	for (; b->at < b->end; b->at++)
		if (!*b->at) {
			b->at++;
			return (const char *)from;
		}
	return NULL;
}

bool tl_hook_parameter(struct tl_hook_row *row, struct tl_hook_parameter *p)
{
	struct bytes b = {row->parameters, row->parameters + row->size};
	int16_t size, kind;

	if (row->size < 2 * sizeof(size))
		return false;
	tl_copy(&size, b.at, sizeof(size));
	tl_copy(&kind, b.at + sizeof(size), sizeof(kind));
	b.at += 2 * sizeof(size);
	p->type = take_string(&b);
	p->name = take_string(&b);
	if (!p->type || !p->name || !size)
		return false;
	p->is_signed = size < 0;
	p->size = (unsigned)(size < 0 ? -size : size);
	p->kind = (unsigned)kind;
	row->parameters = b.at;
	row->size = (size_t)(b.end - b.at);
	return true;
}

/* Each of its words is relative to itself. */
static uintptr_t relative(const struct bytes *b, uintptr_t at, unsigned i)
{
	return at + 4 * i + (uintptr_t)(int32_t)word_at(b->at + 4 * i);
}

static void read_hook(struct bytes b, uintptr_t at, const struct tl_hook_reader *reader)
{
	struct tl_hook_row row = {0};

	if (!reader->hook || b.end - b.at < 4 * HOOK_WORDS)
		return;
	row.word = relative(&b, at, 0);
	row.function = relative(&b, at, 1);
	row.mark = relative(&b, at, 2);
	row.form = word_at(b.at + 4 * 3);
	b.at += 4 * HOOK_WORDS;
	row.name = take_string(&b);
	row.result = take_string(&b);
	if (!row.name || !row.result)
		return;
	row.parameters = b.at;
	row.size = (size_t)(b.end - b.at);
	reader->hook(reader->arg, &row);
}

static void read_site(struct bytes b, uintptr_t at, const struct tl_hook_reader *reader)
{
	struct tl_hook_place place;
	uint32_t form;

	if (!reader->place || b.end - b.at < 4 * SITE_WORDS)
		return;
	place.at = relative(&b, at, 0);
	place.target = relative(&b, at, 1);
	place.word = relative(&b, at, 2);
	form = word_at(b.at + 4 * 3);
	place.jumps = form == FORM_JUMP;
	if (form == FORM_NOP || form == FORM_JUMP)
		reader->place(reader->arg, &place);
}

static size_t padded(size_t n)
{
	return (n + 3) & ~(size_t)3;
}

void tl_hooks_read(
	const uint8_t *notes, size_t size, uintptr_t at, const struct tl_hook_reader *reader)
{
	size_t i = 0;

	while (size - i >= HEAD) {
		size_t nname = word_at(notes + i), n = word_at(notes + i + 4);
		uint32_t type = word_at(notes + i + 8);
		size_t name = i + HEAD, desc;
		struct bytes b;

		if (nname > size - name || n > size - name ||
			padded(nname) + padded(n) > size - name)
			return;
		desc = name + padded(nname);
		b = (struct bytes){notes + desc, notes + desc + n};
		i = desc + padded(n);
		if (nname != NAME || !tl_equal(notes + name, TL_NOTE_NAME, NAME))
			continue;
		if (type == NOTE_HOOK)
			read_hook(b, at + desc, reader);
		else if (type == NOTE_SITE)
			read_site(b, at + desc, reader);
	}
}

/* --- what is kept of an image ----------------------------------------------------- */

struct places {
	struct tl_hook_place *at;
	size_t n, max;
	bool read;
};

static void forget(void *what)
{
	struct places *p = what;

	if (p->at)
		tl_os_free(p->at, p->max * sizeof(*p->at));
	*p = (struct places){0};
}

static struct places *places_of(const struct tl_image *img)
{
	struct tl_image_kept *kept = tl_image_kept(img, TL_KEEPS_HOOKS);

	_Static_assert(sizeof(struct places) <= sizeof(kept->what), "they lie there");
	kept->forget = forget;
	return (void *)kept->what;
}

struct reading {
	const struct tl_image *img;
	struct places *to;
	bool failed;
};

static bool grow(struct places *p)
{
	size_t max = p->max ? 2 * p->max : 64;
	struct tl_hook_place *at = tl_os_alloc(max * sizeof(*at));

	if (!at)
		return false;
	if (p->at) {
		tl_copy(at, p->at, p->n * sizeof(*at));
		tl_os_free(p->at, p->max * sizeof(*at));
	}
	p->at = at;
	p->max = max;
	return true;
}

static bool is_in(const struct tl_image *img, uintptr_t addr)
{
	return addr >= img->lo && addr < img->hi;
}

static void keep(void *arg, const struct tl_hook_place *place)
{
	struct reading *r = arg;

	if (!is_in(r->img, place->at))
		return;
	if (r->to->n == r->to->max && !grow(r->to)) {
		r->failed = true;
		return;
	}
	r->to->at[r->to->n++] = *place;
}

static bool read_notes(void *arg, const struct tl_segment *s)
{
	struct reading *r = arg;
	const struct tl_hook_reader reader = {.place = keep, .arg = arg};
	uint8_t *notes;

	if (s->type != PT_NOTE || !s->size || s->size > TABLE_MAX)
		return true;
	notes = tl_os_alloc(s->size);
	if (!notes) {
		r->failed = true;
		return false;
	}
	tl_hooks_read(notes, tl_os_text_read(s->at, notes, s->size), s->at, &reader);
	tl_os_free(notes, s->size);
	return !r->failed;
}

int tl_image_places(const struct tl_image *img,
	int (*fn)(void *arg, const struct tl_hook_place *place), void *arg)
{
	struct places *p = places_of(img);
	struct reading r = {.img = img, .to = p};
	int ret = 0;

	if (!p->read && !(img->flags & TL_IMAGE_LISTED))
		tl_elf_segments(img, read_notes, &r);
	if (r.failed) {
		forget(p);
		return -TL_E_NOMEM;
	}
	p->read = true;
	for (size_t i = 0; i < p->n && !ret; i++)
		ret = fn(arg, &p->at[i]);
	return ret;
}
