/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/* Strings of a script: a length, the bytes, a NUL. */
#include "internal.h"

/* Where a long result grows. */
struct grow {
	struct tl_str *s;
	uint32_t max;
	bool cut;
};

static void grow_add(struct grow *g, const char *b, uint32_t n)
{
	uint32_t room = g->max - g->s->len;

	if (n > room) {
		n = room;
		g->cut = true;
	}
	memmove(g->s->b + g->s->len, b, n);
	g->s->len += n;
}

static void grow_end(struct tl_run *run, struct grow *g)
{
	g->s->b[g->s->len] = 0;
	if (tl_unlikely(g->cut))
		run->block->truncated++;
}

void tl_str_put(struct tl_run *run, struct tl_str *dst, const char *s, uint32_t n)
{
	if (tl_unlikely(n > tl_max_len(run))) {
		n = tl_max_len(run);
		run->block->truncated++;
	}
	memmove(dst->b, s, n);
	dst->b[n] = 0;
	dst->len = n;
}

bool tl_str_add(struct tl_run *run, struct tl_str *dst, const char *s, uint32_t n)
{
	uint32_t room = tl_max_len(run) - dst->len;
	bool fits = n <= room;

	if (!fits) {
		n = room;
		run->block->truncated++;
	}
	memcpy(dst->b + dst->len, s, n);
	dst->len += n;
	dst->b[dst->len] = 0;
	return fits;
}

void tl_str_set(struct tl_run *run, struct tl_str *dst, const struct tl_str *src)
{
	tl_str_put(run, dst, src->b, src->len);
}

void tl_str_set_c(struct tl_run *run, struct tl_str *dst, const char *text)
{
	tl_str_put(run, dst, text, tl_cstr_len(text));
}

void tl_str_take(struct tl_run *run, struct tl_str *dst, const struct tl_str *shared)
{
	tl_str_put(run, dst, shared->b, tl_str_shared_len(run, shared));
}

void tl_str_store(struct tl_run *run, struct tl_str *shared, const struct tl_str *src)
{
	uint32_t n = src->len;

	if (tl_unlikely(n > tl_max_len(run))) {
		n = tl_max_len(run);
		run->block->truncated++;
	}
	memcpy(shared->b, src->b, n);
	shared->b[n] = 0;
	shared->len = n;
}

void tl_global_str_get(struct tl_run *run, uint32_t off, struct tl_str *dst)
{
	tl_str_take(run, dst, (const struct tl_str *)(run->view->globals + off));
}

void tl_global_str_set(struct tl_run *run, uint32_t off, const struct tl_str *src)
{
	tl_str_store(run, (struct tl_str *)(run->view->globals + off), src);
}

void tl_str_cat(
	struct tl_run *run, struct tl_str *dst, const struct tl_str *a, const struct tl_str *b)
{
	uint32_t max = tl_max_len(run), na = a->len, nb = b->len;

	if (tl_unlikely(na > max))
		na = max;
	if (tl_unlikely(nb > max - na)) {
		nb = max - na;
		run->block->truncated++;
	}
	if (dst ==
		b) { /* make room in front; when a is the same string, its start stays where it is */
		memmove(dst->b + na, b->b, nb);
		if (a != b)
			memcpy(dst->b, a->b, na);
	} else {
		if (dst != a)
			memcpy(dst->b, a->b, na);
		memcpy(dst->b + na, b->b, nb);
	}
	dst->len = na + nb;
	dst->b[na + nb] = 0;
}

int tl_str_cmp(const struct tl_str *a, const struct tl_str *b)
{
	uint32_t n = a->len < b->len ? a->len : b->len;
	int c = memcmp(a->b, b->b, n);

	if (c)
		return c;
	return a->len < b->len ? -1 : a->len > b->len;
}

void tl_substr(struct tl_run *run, struct tl_str *dst, const struct tl_str *s, int64_t start,
	int64_t length)
{
	if (start < 0 || start >= s->len || length <= 0) {
		dst->len = 0;
		dst->b[0] = 0;
		return;
	}
	if (length > (int64_t)s->len - start)
		length = (int64_t)s->len - start;
	tl_str_put(run, dst, s->b + start, (uint32_t)length);
}

/* First place of `sub` in s from `at` on; s->len when it is not there. An empty one is everywhere. */
static uint32_t find(const struct tl_str *s, uint32_t at, const struct tl_str *sub)
{
	for (; at <= s->len && sub->len <= s->len - at; at++)
		if (!sub->len || (s->b[at] == sub->b[0] && !memcmp(s->b + at, sub->b, sub->len)))
			return at;
	return UINT32_MAX;
}

int64_t tl_isinstr(const struct tl_str *s, const struct tl_str *sub)
{
	return find(s, 0, sub) != UINT32_MAX;
}

int64_t tl_strpos(const struct tl_str *s, const struct tl_str *sub)
{
	uint32_t at = find(s, 0, sub);

	return at == UINT32_MAX ? -1 : (int64_t)at;
}

int64_t tl_stringat(struct tl_run *run, const struct tl_str *s, int64_t pos)
{
	if (pos < 0 || pos >= s->len) {
		tl_run_error(run, "Position out of bounds");
		return 0;
	}
	return (signed char)s->b[pos];
}

int tl_digit(char c)
{
	if (c >= '0' && c <= '9')
		return c - '0';
	c |= 0x20;
	return c >= 'a' && c <= 'z' ? c - 'a' + 10 : 99;
}

int64_t tl_strtol(const struct tl_str *s, int64_t base)
{
	const char *p = s->b;
	bool minus = *p == '-';
	uint64_t v = 0;

	p += minus;
	if ((base == 0 || base == 16) && p[0] == '0' && (p[1] | 0x20) == 'x' &&
		tl_digit(p[2]) < 16) {
		p += 2;
		base = 16;
	}
	if (base == 0)
		base = *p == '0' ? 8 : 10;
	while (tl_digit(*p) < (base < 16 ? base : 16)) /* as the kernel's parser: no digit g */
		v = v * (uint64_t)base + (uint64_t)tl_digit(*p++);
	return (int64_t)(minus ? 0 - v : v);
}

void tl_str_replace(struct tl_run *run, struct tl_str *dst, const struct tl_str *s,
	const struct tl_str *old, const struct tl_str *now)
{
	struct grow g = {dst, tl_max_len(run), false};
	uint32_t at = 0, hit;

	if (!old->len || find(s, 0, old) == UINT32_MAX) {
		tl_str_set(run, dst, s);
		return;
	}
	dst->len = 0;
	while ((hit = find(s, at, old)) != UINT32_MAX) {
		grow_add(&g, s->b + at, hit - at);
		grow_add(&g, now->b, now->len);
		at = hit + old->len;
	}
	grow_add(&g, s->b + at, s->len - at);
	grow_end(run, &g);
}

static bool is_delim(char c, const struct tl_str *delim)
{
	uint32_t i;

	for (i = 0; i < delim->len; i++)
		if (delim->b[i] == c)
			return true;
	return false;
}

/* The rest lies in shared memory: every index is brought into range before use. */
void tl_tokenize(struct tl_run *run, struct tl_str *dst, const struct tl_str *input,
	const struct tl_str *delim)
{
	struct tl_block_own *own = tl_block_own(run->block);
	uint32_t at, end, from;

	if (input->len) {
		end = input->len < tl_max_len(run) ? input->len : tl_max_len(run);
		memcpy(own->text, input->b, end);
		at = 0;
	} else {
		at = own->token_at;
		end = own->token_end;
		if (end > tl_max_len(run))
			end = tl_max_len(run);
		if (at > end)
			at = end;
	}
	while (at < end && is_delim(own->text[at], delim))
		at++;
	from = at;
	while (at < end && !is_delim(own->text[at], delim))
		at++;
	own->token_at = at < end ? at + 1 : at; /* the delimiter belongs to the token before it */
	own->token_end = end;
	tl_str_put(run, dst, own->text + from, at - from);
}
