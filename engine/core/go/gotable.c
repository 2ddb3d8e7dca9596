/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/*
 * Go's own table of functions, by which its runtime unwinds: in every program
 * that it builds, stripped or not. It is found in memory by its header, and the
 * module's record by its pointer to that: there lie the address of the text and
 * the functions' offsets from it (Go 1.18; before, since 1.16, their addresses).
 */
#include "../../os/os.h"
#include "../base/mem.h"
#include "room.h"

enum {
	BLOCK = 65536,
	PAGE = 4096,
	WORD = sizeof(uintptr_t),
	FAR = 256 << 20,
	GAPS = 4 << 20, /* between the image's segments */
	RECORD = 64, /* words of the module's record that are looked at */
	NFUNC_MAX = 1 << 22,
	HEADER_BYTES = 16,
};

/* The header's magic. */
enum { GO_1_20 = 0xfffffff1u, GO_1_18 = 0xfffffff0u, GO_1_16 = 0xfffffffau };

/* Where the words of the record stand, from those of the slice of functions. */
enum { LIST, LIST_LEN, LIST_CAP, FIND, MIN_PC, MAX_PC, TEXT, AFTER_LIST };

struct search {
	const struct tl_image *img;
	struct tl_go_table *out;
	uintptr_t header; /* 0: not found yet */
	uintptr_t nfunc;
	bool wide;
};

static bool is_header(struct search *s, const uint8_t *p, uintptr_t at)
{
	uint32_t magic;
	uintptr_t n;

	tl_copy(&magic, p, sizeof(magic));
	/* Two zeros, what addresses of instructions are a multiple of, the size of a pointer; the number of functions. */
	if (p[4] || p[5] || (p[6] != 1 && p[6] != 2 && p[6] != 4) || p[7] != WORD ||
		(magic != GO_1_20 && magic != GO_1_18 && magic != GO_1_16))
		return false;
	tl_copy(&n, p + WORD, sizeof(n));
	if (!n || n > NFUNC_MAX)
		return false;
	s->header = at;
	s->nfunc = n;
	s->wide = magic == GO_1_16;
	return true;
}

/* The record's words; what a file has that nobody relocated lacks the bias. */
static bool take(struct search *s, const uintptr_t *w, uintptr_t bias)
{
	const struct tl_image *img = s->img;
	struct tl_go_table t = {
		.at = w[LIST] + bias, .text = w[TEXT] + bias, .n = s->nfunc, .wide = s->wide};

	if (w[LIST_LEN] != s->nfunc + 1 || w[LIST_CAP] != w[LIST_LEN] || t.text < img->lo ||
		t.text >= img->hi)
		return false;
	t.end = tl_go_function(&t, t.n);
	if (tl_go_function(&t, 0) != w[MIN_PC] + bias || t.end != w[MAX_PC] + bias ||
		w[MIN_PC] >= w[MAX_PC] || t.end > img->hi)
		return false;
	*s->out = t;
	return true;
}

/* What begins with the header's address: is it the module's record? */
static bool is_record(struct search *s, uintptr_t at)
{
	uintptr_t w[RECORD];
	size_t n = tl_os_text_read(at, w, sizeof(w)) / sizeof(w[0]);

	for (size_t i = 1; i + AFTER_LIST <= n; i++)
		if (take(s, w + i, s->header - w[0]))
			return true;
	return false;
}

static bool look_at(struct search *s, const uint8_t *buf, size_t n, uintptr_t at)
{
	for (size_t i = 0; i + HEADER_BYTES <= n; i += WORD) {
		uintptr_t v;

		tl_copy(&v, buf + i, sizeof(v));
		if (s->header && (v == s->header || v == s->header - s->img->bias) &&
			is_record(s, at + i))
			return true;
		if (!s->header)
			is_header(s, buf + i, at + i);
	}
	return false;
}

/* Both lie behind the text, the record behind the table. */
static bool search(struct search *s, uint8_t *buf)
{
	uintptr_t at = (s->img->hi + WORD - 1) & ~(uintptr_t)(WORD - 1), end = at + FAR;
	size_t gap = 0, n;

	while (at < end && gap < GAPS) {
		n = tl_os_text_read(at, buf, BLOCK);
		if (n < HEADER_BYTES) {
			n = PAGE - (at & (PAGE - 1));
			gap += n;
			at += n;
			continue;
		}
		gap = 0;
		if (look_at(s, buf, n, at))
			return true;
		at += n - (n == BLOCK ? HEADER_BYTES - WORD : 0);
	}
	return false;
}

uintptr_t tl_go_function(const struct tl_go_table *t, size_t i)
{
	uintptr_t wide;
	uint32_t narrow;

	if (t->wide)
		return tl_os_text_read(t->at + i * 2 * sizeof(wide), &wide, sizeof(wide)) ==
				       sizeof(wide)
			       ? wide
			       : 0;
	return tl_os_text_read(t->at + i * 2 * sizeof(narrow), &narrow, sizeof(narrow)) ==
			       sizeof(narrow)
		       ? t->text + narrow
		       : 0;
}

int tl_go_table_find(const struct tl_image *img, struct tl_go_table *out)
{
	struct search s = {.img = img, .out = out};
	uint8_t *buf = tl_os_alloc(BLOCK);

	*out = (struct tl_go_table){0};
	if (!buf)
		return -TL_E_NOMEM;
	if (!search(&s, buf))
		*out = (struct tl_go_table){0};
	tl_os_free(buf, BLOCK);
	return 0;
}
