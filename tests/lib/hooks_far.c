/* SPDX-License-Identifier: MIT */
/* The same hooks in another file: one function, one word, and places of its own. */
#include "hooks.h"

__attribute__((noinline)) long far_tick(long i)
{
	tl_hook(demo, tick, i, "far");
	return i;
}
