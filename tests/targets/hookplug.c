// SPDX-License-Identifier: MIT
// A library with a hook of its own.
#include "../../include/trapless/hook.h"

TL_HOOK(plug, called, (long, a))

long plugged(long a);

__attribute__((noinline)) long plugged(long a)
{
	tl_hook(plug, called, a);
	return a;
}
