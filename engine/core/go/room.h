/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/* How much of a goroutine's stack is left at the least where code of Go runs. */
#ifndef TRAPLESS_ENGINE_CORE_ROOM_H
#define TRAPLESS_ENGINE_CORE_ROOM_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include "../../arch/arch.h"
#include "../image/image.h"

/* gotable.c: the functions of a program, in ascending order. n 0: there is no such table. */
struct tl_go_table {
	uintptr_t at, text, end; /* of the functions */
	size_t n;
	bool wide;
};
/* 0 or -TL_E_NOMEM. */
int tl_go_table_find(const struct tl_image *img, struct tl_go_table *out);
/* Start of the i-th, the end of all for the last but one. 0: not readable. */
uintptr_t tl_go_function(const struct tl_go_table *t, size_t i);

/* room.c */
/* 0, -TL_E_STACK: a detour may take more than is left there; -TL_E_NOMEM. `code`: the function, walked. */
int tl_room_check(const struct tl_image *img, const struct tl_code *code, uintptr_t addr);
/* Is the code there Go's, of what has been checked? It uses nothing below its stack pointer. */
bool tl_room_is_go(const struct tl_image *img, uintptr_t addr);

#endif
