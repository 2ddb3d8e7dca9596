/* SPDX-License-Identifier: MIT */
#include "hooks.h"

TL_HOOK_VERDICT(sec, may_open, int, 0, (const char *, path), (int, flags))

void other(long i)
{
	tl_hook(demo, tick, i, "other");
	(void)tl_verdict(sec, may_open, "other", 1);
}
