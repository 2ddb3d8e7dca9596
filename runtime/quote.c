/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/* Text as C writes it in a string literal, in quotes or not. */
#include "internal.h"

#define PIECE	   32u
#define TAIL	   3u /* bytes at a piece's end that may begin a character of the next one */
#define QUOTED_MIN 5u /* `"` and `"...` */

static char escape_of(char c)
{
	static const char from[] = "\a\b\f\n\r\t\v\"\\", to[] = "abfnrtv\"\\";
	uint32_t i;

	for (i = 0; from[i]; i++)
		if (from[i] == c)
			return to[i];
	return 0;
}

/*
 * The code that UTF-8 at b, of n bytes, begins with, and in *used how many bytes
 * it takes; 0 for what is none: a shorter form exists, or a surrogate, or beyond.
 */
static uint32_t decode(const char *b, uint32_t n, uint32_t *used)
{
	static const uint32_t least[] = {0, 0, 0x80, 0x800, 0x10000};
	unsigned char first = (unsigned char)b[0];
	uint32_t len = first >= 0xf0 ? 4 : first >= 0xe0 ? 3 : 2, code = first & (0x7fu >> len), i;

	if (first < 0xc0 || first >= 0xf8 || len > n)
		return 0;
	for (i = 1; i < len; i++) {
		if (((unsigned char)b[i] & 0xc0) != 0x80)
			return 0;
		code = code << 6 | ((unsigned char)b[i] & 0x3f);
	}
	*used = len;
	return code < least[len] || code > 0x10ffff || code >> 11 == 0x1b ? 0 : code;
}

static uint32_t put_code(char *buf, uint32_t code)
{
	uint32_t digits = code > 0xffff ? 8 : 4, i;

	buf[0] = '\\';
	buf[1] = digits == 8 ? 'U' : 'u';
	for (i = 0; i < digits; i++)
		buf[2 + i] = "0123456789ABCDEF"[code >> 4 * (digits - 1 - i) & 15];
	return 2 + digits;
}

#define ESCAPE_MAX 10u /* \U0001F600 */

/* The first of n bytes as it stands in a literal, in UTF-8 with those that belong to it; returns the length. */
static uint32_t escape(char *buf, const char *b, uint32_t n, uint32_t *used)
{
	unsigned char u = (unsigned char)*b;
	uint32_t code = decode(b, n, used);

	if (code)
		return put_code(buf, code);
	*used = 1;
	buf[0] = '\\';
	if (escape_of(*b)) {
		buf[1] = escape_of(*b);
		return 2;
	}
	if (u >= 0x20 && u < 0x7f) {
		buf[0] = *b;
		return 1;
	}
	if (!u) {
		buf[1] = '0';
		return 2;
	}
	buf[1] = (char)('0' + (u >> 6));
	buf[2] = (char)('0' + (u >> 3 & 7));
	buf[3] = (char)('0' + (u & 7));
	return 4;
}

struct quote {
	struct tl_str *s;
	uint32_t max; /* of the whole result */
	uint32_t safe; /* what may stay where the dots are to follow */
	bool quoted;
};

static void begin(struct tl_run *run, struct quote *q, struct tl_str *dst, int64_t len, bool quoted)
{
	q->s = dst;
	q->max = len <= 0 || len > tl_max_len(run) ? tl_max_len(run) : (uint32_t)len;
	if (quoted && q->max < QUOTED_MIN)
		q->max = QUOTED_MIN;
	q->quoted = quoted;
	dst->len = 0;
	if (quoted)
		dst->b[dst->len++] = '"';
	q->safe = dst->len;
}

/* How many of n bytes it took: 0, they do not fit; escapes are not cut. */
static uint32_t add(struct quote *q, const char *b, uint32_t bytes)
{
	char buf[ESCAPE_MAX];
	uint32_t used, n = escape(buf, b, bytes, &used);

	if (q->s->len + n + q->quoted > q->max)
		return 0;
	memcpy(q->s->b + q->s->len, buf, n);
	q->s->len += n;
	if (q->s->len + 4 <= q->max)
		q->safe = q->s->len;
	return used;
}

/* Adds those of n bytes that begin before `upto`; returns where it stopped, n or less when it is full. */
static uint32_t add_all(struct quote *q, const char *b, uint32_t n, uint32_t upto)
{
	uint32_t at = 0, used;

	while (at < upto && (used = add(q, b + at, n - at)))
		at += used;
	return at;
}

static void end(struct tl_run *run, struct quote *q, bool all)
{
	if (q->quoted) {
		if (!all)
			q->s->len = q->safe;
		memcpy(q->s->b + q->s->len, "\"...", 4);
		q->s->len += all ? 1 : 4;
	}
	q->s->b[q->s->len] = 0;
	if (!all && q->max == tl_max_len(run)) /* not what the script asked for */
		run->block->truncated++;
}

void tl_text_strn(
	struct tl_run *run, struct tl_str *dst, const struct tl_str *s, int64_t len, bool quoted)
{
	struct quote q;

	begin(run, &q, dst, len, quoted);
	end(run, &q, add_all(&q, s->b, s->len, s->len) == s->len);
}

void tl_text_str(struct tl_run *run, struct tl_str *dst, const struct tl_str *s)
{
	tl_text_strn(run, dst, s, 0, false);
}

static void put_address(struct tl_run *run, struct tl_str *dst, uint64_t addr)
{
	char buf[24];

	tl_str_put(run, dst, buf, tl_text_hex(buf, addr));
}

/* Text from the program, in pieces that need little stack; dots where reading ends early. */
void tl_user_string_quoted(struct tl_run *run, struct tl_str *dst, uint64_t addr)
{
	uint64_t room[TL_STR_SIZE(PIECE + 1) / 8];
	struct tl_str *piece = (struct tl_str *)room;
	struct quote q;
	uint32_t at, upto;
	bool all = true;

	begin(run, &q, dst, 0, true);
	do {
		if (tl_read_string(run, piece, addr, PIECE)) {
			if (dst->len == 1) {
				put_address(run, dst, addr);
				return;
			}
			all = false;
			break;
		}
		upto = piece->len < PIECE ? piece->len : PIECE - TAIL;
		at = add_all(&q, piece->b, piece->len, upto);
		addr += at;
		all = at >= upto;
	} while (all && piece->len == PIECE);
	end(run, &q, all);
}

static bool buffer_quoted(
	struct tl_run *run, struct tl_str *dst, uint64_t addr, int64_t n, int64_t len)
{
	char piece[PIECE];
	struct quote q;
	bool all = true;

	begin(run, &q, dst, len, true);
	while (all && n > 0) {
		uint32_t some = n < PIECE ? (uint32_t)n : PIECE;
		uint32_t upto = n <= PIECE ? some : PIECE - TAIL, at;

		if (tl_read(run, piece, addr, some))
			return false;
		at = add_all(&q, piece, some, upto);
		addr += at;
		n -= at;
		all = at >= upto;
	}
	end(run, &q, all);
	return true;
}

void tl_user_buffer_quoted(
	struct tl_run *run, struct tl_str *dst, uint64_t addr, int64_t n, int64_t len)
{
	tl_str_put(run, dst, "", 0);
	if (len > 0 && !buffer_quoted(run, dst, addr, n, len))
		put_address(run, dst, addr);
}

void tl_user_buffer_quoted_error(
	struct tl_run *run, struct tl_str *dst, uint64_t addr, int64_t n, int64_t len)
{
	tl_str_put(run, dst, "", 0);
	if (len > 0 && buffer_quoted(run, dst, addr, n, len))
		return;
	tl_str_put(run, dst, "", 0);
	tl_run_error(run, "Unable to access user space data at %p", addr);
}
