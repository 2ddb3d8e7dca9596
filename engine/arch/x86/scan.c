/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/* Jumps between functions, found without decoding. */
#include "x86.h"

static uintptr_t target(const uint8_t *rel, uintptr_t next)
{
	uint32_t v = (uint32_t)rel[0] | (uint32_t)rel[1] << 8 | (uint32_t)rel[2] << 16 |
		     (uint32_t)rel[3] << 24;

	return next + (uintptr_t)(intptr_t)(int32_t)v;
}

/* jmp rel32 and jcc rel32; their prefixes do not change where they lead. */
void tl_arch_wide_jumps(const uint8_t *text, size_t size, uintptr_t addr,
	void (*fn)(void *arg, uintptr_t target), void *arg)
{
	for (size_t i = 0; i < size; i++) {
		if (text[i] == 0xe9)
			fn(arg, target(text + i + 1, addr + i + 5));
		else if (text[i] == 0x0f && (text[i + 1] & 0xf0) == 0x80)
			fn(arg, target(text + i + 2, addr + i + 6));
	}
}
