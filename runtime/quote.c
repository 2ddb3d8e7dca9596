/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/* Text as C writes it in a string literal, in quotes or not. */
#include "internal.h"

#define PIECE	   32u
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

/* c as it stands in a literal; returns the length. */
static uint32_t escape(char buf[4], char c)
{
	unsigned char u = (unsigned char)c;

	buf[0] = '\\';
	if (escape_of(c)) {
		buf[1] = escape_of(c);
		return 2;
	}
	if (u >= 0x20 && u < 0x7f) {
		buf[0] = c;
		return 1;
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

/* False: it does not fit; escapes are not cut. */
static bool add(struct quote *q, char c)
{
	char buf[4];
	uint32_t n = escape(buf, c);

	if (q->s->len + n + q->quoted > q->max)
		return false;
	memcpy(q->s->b + q->s->len, buf, n);
	q->s->len += n;
	if (q->s->len + 4 <= q->max)
		q->safe = q->s->len;
	return true;
}

static bool add_all(struct quote *q, const char *b, uint32_t n)
{
	while (n && add(q, *b)) {
		b++;
		n--;
	}
	return !n;
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
	end(run, &q, add_all(&q, s->b, s->len));
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
		all = add_all(&q, piece->b, piece->len);
		addr += piece->len;
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

		if (tl_read(run, piece, addr, some))
			return false;
		all = add_all(&q, piece, some);
		addr += some;
		n -= some;
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
