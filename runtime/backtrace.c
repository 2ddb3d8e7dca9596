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

void tl_ustack_addresses(struct tl_run *run, struct tl_str *dst, int64_t max)
{
	uint64_t pc[TL_MAXBACKTRACE];
	uint32_t i, n;

	tl_str_put(run, dst, "", 0);
	if (max < 1)
		return;
	n = tl_unwind(run, pc, max < TL_MAXBACKTRACE ? (uint32_t)max : TL_MAXBACKTRACE);
	for (i = 0; i < n && append_address(run, dst, pc[i]); i++)
		;
}

/* What tl_ustack_addresses() has written. */
static uint32_t parse(const struct tl_str *list, uint64_t pc[TL_MAXBACKTRACE])
{
	uint32_t i = 0, n = 0;

	while (n < TL_MAXBACKTRACE) {
		while (i < list->len && list->b[i] == ' ')
			i++;
		if (i + 1 < list->len && list->b[i] == '0' && (list->b[i + 1] | 0x20) == 'x')
			i += 2;
		if (i == list->len || tl_digit(list->b[i]) > 15)
			break;
		for (pc[n] = 0; i < list->len && tl_digit(list->b[i]) < 16; i++)
			pc[n] = pc[n] << 4 | (uint64_t)tl_digit(list->b[i]);
		n++;
	}
	return n;
}

static uint32_t stack_of(struct tl_run *run, const struct tl_str *list, uint64_t *pc)
{
	return list ? parse(list, pc) : tl_unwind(run, pc, TL_MAXBACKTRACE);
}

void tl_ustack_print(struct tl_run *run, const struct tl_str *list, enum tl_shown how)
{
	bool brief = how == TL_SHOWN_BRIEF;
	uint64_t pc[TL_MAXBACKTRACE];
	uint32_t i, len, n = stack_of(run, list, pc);
	char head[32];
	TL_STRING(text);

	for (i = 0; i < n; i++) {
		tl_usymdata_of(run, text, pc[i], i > 0, how);
		head[0] = ' ';
		len = 1;
		if (!brief && text->b[0] != '0') { /* it has a name */
			len += tl_text_hex(head + 1, pc[i]);
			memcpy(head + len, " : ", 3);
			len += 3;
		}
		tl_ring_text(run->view, run->block, TL_REC_TEXT, 0, head + brief, len - brief);
		tl_ring_text(run->view, run->block, TL_REC_TEXT, 0, text->b, text->len);
		tl_ring_text(run->view, run->block, TL_REC_TEXT, 0, brief ? " " : "\n", 1);
	}
	if (brief && n)
		tl_ring_text(run->view, run->block, TL_REC_TEXT, 0, "\n", 1);
}

void tl_ustack_text(
	struct tl_run *run, struct tl_str *dst, const struct tl_str *list, enum tl_shown how)
{
	uint64_t pc[TL_MAXBACKTRACE];
	uint32_t i, n = stack_of(run, list, pc);
	TL_STRING(text);

	tl_str_put(run, dst, "", 0);
	for (i = 0; i < n; i++) {
		tl_usymdata_of(run, text, pc[i], i > 0, how);
		if (!append(run, text, "\n", 1) || !append(run, dst, text->b, text->len))
			break;
	}
}
