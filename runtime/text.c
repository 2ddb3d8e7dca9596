/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/* Numbers as text. */
#include "internal.h"

uint32_t tl_text_dec(char *buf, int64_t v)
{
	char tmp[20];
	uint64_t u = v < 0 ? 0 - (uint64_t)v : (uint64_t)v, rem;
	uint32_t n = 0, len = 0;

	do {
		u = tl_udiv(u, 10, &rem);
		tmp[n++] = (char)('0' + rem);
	} while (u);
	if (v < 0)
		buf[len++] = '-';
	while (n)
		buf[len++] = tmp[--n];
	return len;
}

uint32_t tl_text_hex(char *buf, uint64_t v)
{
	unsigned digits = (tl_bits(v) + 3) / 4;
	uint32_t len = 2;

	buf[0] = '0';
	buf[1] = 'x';
	if (!digits)
		digits = 1;
	while (digits--)
		buf[len++] = "0123456789abcdef"[v >> (4 * digits) & 15];
	return len;
}
