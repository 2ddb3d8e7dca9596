/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/* Text of UTF-16 and UTF-32 units in the program's memory, as UTF-8. */
#include "internal.h"

#define LAST 0x10ffffu

static bool is_high(uint32_t c)
{
	return c >= 0xd800 && c < 0xdc00;
}
static bool is_low(uint32_t c)
{
	return c >= 0xdc00 && c < 0xe000;
}

/* Bytes of c in UTF-8; 0: no character. */
static uint32_t utf8(char buf[4], uint32_t c)
{
	static const uint8_t first[] = {0, 0, 0xc0, 0xe0, 0xf0};
	uint32_t n = c < 0x80 ? 1 : c < 0x800 ? 2 : c < 0x10000 ? 3 : 4, i;

	if (c > LAST || is_high(c) || is_low(c))
		return 0;
	for (i = n; i-- > 1; c >>= 6)
		buf[i] = (char)(0x80 | (c & 0x3f));
	buf[0] = (char)(n == 1 ? c : first[n] | c);
	return n;
}

static void invalid(struct tl_run *run, uint32_t unit, uint32_t c, uint64_t addr)
{
	char hex[24];
	uint32_t i, n = tl_text_hex(hex, c);

	hex[n] = 0;
	for (i = 2; i < n; i++)
		hex[i] = (char)(hex[i] >= 'a' ? hex[i] - 'a' + 'A' : hex[i]);
	tl_run_error(run, "invalid UTF-%d character U+%s at %p", (int64_t)unit * 8, hex + 2, addr);
}

static bool next(struct tl_run *run, uint32_t unit, uint64_t addr, uint32_t *c)
{
	uint16_t c2 = 0;

	if (unit == 4 ? !tl_read(run, c, addr, 4) : !tl_read(run, &c2, addr, 2)) {
		if (unit == 2)
			*c = c2;
		return true;
	}
	tl_run_error(run, "user string copy fault at %p [man error::fault]", addr);
	return false;
}

void tl_user_string_wide(struct tl_run *run, struct tl_str *dst, uint64_t addr, uint32_t unit)
{
	uint32_t c, low, n;
	uint64_t at;
	char buf[4];

	tl_str_put(run, dst, "", 0);
	for (; !run->error && next(run, unit, addr, &c) && c; addr += unit) {
		at = addr;
		if (unit == 2 && is_high(c) && next(run, unit, addr + unit, &low) && is_low(low)) {
			c = 0x10000 + ((c & 0x3ff) << 10) + (low & 0x3ff);
			addr += unit;
		}
		n = utf8(buf, c);
		if (!n) {
			invalid(run, unit, c, at);
			break;
		}
		if (n > tl_max_len(run) - dst->len) {
			run->block->truncated++;
			break;
		}
		memcpy(dst->b + dst->len, buf, n);
		dst->len += n;
	}
	if (run->error)
		dst->len = 0;
	dst->b[dst->len] = 0;
}
