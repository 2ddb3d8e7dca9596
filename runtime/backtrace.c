/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/* Stacks as text: lists of addresses, and what they mean. */
#include "internal.h"

/* All of it, or nothing where it does not fit. */
static bool append(struct tl_run *run, struct tl_str *dst, const char *text, uint32_t n)
{
	if (n > tl_max_len(run) - dst->len) {
		run->block->truncated++;
		return false;
	}
	memcpy(dst->b + dst->len, text, n);
	dst->len += n;
	dst->b[dst->len] = 0;
	return true;
}

static bool append_address(struct tl_run *run, struct tl_str *dst, uint64_t addr)
{
	char text[24] = " ";
	uint32_t skip = dst->len ? 0 : 1;

	return append(run, dst, text + skip, 1 + tl_text_hex(text + 1, addr) - skip);
}

/* Along the program's stack. False: the running thread is a kernel's own, and has none. */
static bool begin_at_user(struct tl_walk *w, struct tl_run *run, int64_t max)
{
	struct tl_from left = {0};
	const int there = tl_left(run, &left);

	tl_walk_begin(w, run, there > 0 ? &left : NULL, there ? max : 0);
	return there;
}

static void put_addresses(struct tl_run *run, struct tl_str *dst, struct tl_walk *w)
{
	uint64_t pc;

	tl_str_put(run, dst, "", 0);
	while (tl_walk_next(w, &pc) && append_address(run, dst, pc))
		;
}

void tl_ustack_addresses(struct tl_run *run, struct tl_str *dst, int64_t max)
{
	struct tl_walk w;

	begin_at_user(&w, run, max);
	put_addresses(run, dst, &w);
}

void tl_kstack_addresses(struct tl_run *run, struct tl_str *dst, int64_t max)
{
	struct tl_walk w;

	tl_walk_begin(&w, run, NULL, max);
	put_addresses(run, dst, &w);
}

static void put_piece(struct tl_run *run, const char *text, uint32_t n)
{
	tl_ring_text(run, TL_REC_TEXT, TL_TEXT_STACK | TL_TEXT_MORE, text, n);
}

/* Its end: there is more of no other stack. */
static void end_stack(struct tl_run *run)
{
	tl_ring_text(run, TL_REC_TEXT, TL_TEXT_STACK, "", 0);
}

static void print(struct tl_run *run, struct tl_walk *w, enum tl_shown how)
{
	uint64_t pc;
	uint32_t len;
	char head[32] = " ";
	TL_STRING(text);

	while (tl_walk_next(w, &pc)) {
		tl_usymdata_of(run, text, pc, w->n > 1, how);
		len = how == TL_SHOWN_BRIEF ? 0 : 1;
		if (len && text->b[0] != '0') { /* it has a name */
			len += tl_text_hex(head + len, pc);
			memcpy(head + len, " : ", 3);
			len += 3;
		}
		put_piece(run, head, len);
		put_piece(run, text->b, text->len);
		put_piece(run, "\n", 1);
	}
	if (w->n)
		end_stack(run);
}

void tl_ustack_print_from(
	struct tl_run *run, const struct tl_from *from, enum tl_shown how, int64_t max)
{
	struct tl_walk w;

	tl_walk_begin(&w, run, from, max);
	print(run, &w, how);
}

void tl_kstack_print(struct tl_run *run, enum tl_shown how, int64_t max)
{
	tl_ustack_print_from(run, NULL, how, max);
}

/* As SystemTap says it. */
static const char none_begins[] = "<no user backtrace at ", none_ends[] = ">\n";

static void print_none(struct tl_run *run)
{
	const char *point = run->env->point ? run->env->point : "";

	tl_ring_text(run, TL_REC_TEXT, 0, none_begins, sizeof(none_begins) - 1);
	tl_ring_text(run, TL_REC_TEXT, 0, point, tl_cstr_len(point));
	tl_ring_text(run, TL_REC_TEXT, 0, none_ends, sizeof(none_ends) - 1);
}

void tl_ustack_print(struct tl_run *run, enum tl_shown how, int64_t max)
{
	struct tl_walk w;

	if (begin_at_user(&w, run, max))
		print(run, &w, how);
	else
		print_none(run);
}

static void put_text(struct tl_run *run, struct tl_str *dst, struct tl_walk *w, enum tl_shown how)
{
	uint64_t pc;
	TL_STRING(text);

	tl_str_put(run, dst, "", 0);
	while (tl_walk_next(w, &pc)) {
		tl_usymdata_of(run, text, pc, w->n > 1, how);
		if (!append(run, text, "\n", 1) || !append(run, dst, text->b, text->len))
			break;
	}
}

void tl_kstack_text(struct tl_run *run, struct tl_str *dst, enum tl_shown how, int64_t max)
{
	struct tl_walk w;

	tl_walk_begin(&w, run, NULL, max);
	put_text(run, dst, &w, how);
}

static void put_none(struct tl_run *run, struct tl_str *dst)
{
	const char *point = run->env->point ? run->env->point : "";

	tl_str_put(run, dst, none_begins, sizeof(none_begins) - 1);
	tl_str_add(run, dst, point, tl_cstr_len(point));
	tl_str_add(run, dst, none_ends, sizeof(none_ends) - 1);
}

void tl_ustack_text(struct tl_run *run, struct tl_str *dst, enum tl_shown how, int64_t max)
{
	struct tl_walk w;

	if (begin_at_user(&w, run, max))
		put_text(run, dst, &w, how);
	else
		put_none(run, dst);
}

/* One of a list. */
struct word {
	const char *at;
	uint32_t len, end; /* end: offset behind it */
	uint64_t addr;
};

static bool next_word(const struct tl_str *list, struct word *w)
{
	uint32_t i = w->end;

	while (i < list->len && list->b[i] == ' ')
		i++;
	w->at = list->b + i;
	for (w->end = i; w->end < list->len && list->b[w->end] != ' '; w->end++)
		;
	w->len = w->end - i;
	if (w->len > 2 && w->at[0] == '0' && (w->at[1] | 0x20) == 'x')
		i += 2;
	for (w->addr = 0; i < w->end && tl_digit(list->b[i]) < 16; i++)
		w->addr = w->addr << 4 | (uint64_t)tl_digit(list->b[i]);
	return w->len;
}

void tl_usyms_print(struct tl_run *run, const struct tl_str *list)
{
	struct word w = {.end = 0};
	uint32_t from;
	TL_STRING(text);

	for (from = 0; next_word(list, &w); from = w.end) {
		tl_usymdata_of(run, text, w.addr, from > 0, TL_SHOWN_FULL);
		put_piece(run, " ", 1);
		put_piece(run, w.at, w.len);
		put_piece(run, " : ", 3);
		put_piece(run, text->b, text->len);
		put_piece(run, "\n", 1);
	}
	if (from)
		end_stack(run);
}

/* " WORD : TEXT\n", or nothing. */
static bool append_meaning(
	struct tl_run *run, struct tl_str *dst, const struct word *w, const struct tl_str *text)
{
	uint32_t len = dst->len;

	if (append(run, dst, " ", 1) && append(run, dst, w->at, w->len) &&
		append(run, dst, " : ", 3) && append(run, dst, text->b, text->len) &&
		append(run, dst, "\n", 1))
		return true;
	dst->len = len;
	dst->b[len] = 0;
	return false;
}

void tl_usyms_text(struct tl_run *run, struct tl_str *dst, const struct tl_str *list)
{
	struct word w = {.end = 0};
	uint32_t from;
	TL_STRING(text);

	tl_str_put(run, dst, "", 0);
	for (from = 0; next_word(list, &w); from = w.end) {
		tl_usymdata_of(run, text, w.addr, from > 0, TL_SHOWN_FULL);
		if (!append_meaning(run, dst, &w, text))
			break;
	}
}
