/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/* Strings and numbers, as handlers hold them. */
#ifndef TRAPLESS_RUNTIME_SCRIPT_VALUE_H
#define TRAPLESS_RUNTIME_SCRIPT_VALUE_H

#include <stddef.h>
#include <stdint.h>

#ifndef TL_MAXSTRING
#define TL_MAXSTRING 512
#endif

/*
 * `len` bytes and a NUL behind them. Strings made by TL_STRING have room for
 * TL_MAXSTRING - 1 bytes; results are cut there, and the cut is counted.
 */
struct tl_str {
	uint32_t len;
	char b[];
};

/* Bytes that a string takes in globals, keys and map entries. */
#define TL_STR_SIZE(max) (((max) + 4u + 7u) & ~7u)

/* A local string: `name` is a struct tl_str *, empty. */
#define TL_STRING(name)                                                                            \
	uint64_t name##_room[TL_STR_SIZE(TL_MAXSTRING) / 8];                                       \
	struct tl_str *const name = (struct tl_str *)name##_room;                                  \
	name->len = 0, name->b[0] = 0

/* A constant at file scope: `name` is a const struct tl_str object; use &name. */
#define TL_STR_CONST(name, text) static const struct tl_str name = {sizeof(text) - 1, {text}}

/* A number (s NULL) or a string: arguments of printf, keys of maps. */
struct tl_value {
	int64_t l;
	const struct tl_str *s;
};
#define TL_LONG(x)                                                                                 \
	{                                                                                          \
		(int64_t)(x), NULL                                                                 \
	}
#define TL_STR(x)                                                                                  \
	{                                                                                          \
		0, (x)                                                                             \
	}

#endif
