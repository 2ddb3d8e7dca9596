/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/* What the whole engine goes by, and its promises to itself. */
#include "broken.h"
#include "core.h"
#include "mem.h"
#include "race.h"

struct tl_core tl_core;

#ifdef TL_TEST
void (*tl_race_hook)(enum tl_race point);
#endif

uint64_t tl_nbroken;

void (*tl_broken_heard)(const char *what);

void tl_broken(const char *what)
{
	tl_count(&tl_nbroken);
#ifdef TL_TEST
	__builtin_trap();
#endif
	if (tl_broken_heard)
		tl_broken_heard(what);
}
