// SPDX-License-Identifier: MIT
// To be linked with hooked.c: the same hooks once more.
#include "hooked.h"

TL_HOOK_VERDICT(sec, may_open, int, 0, (const char *, path), (int, flags))

void other_places(void)
{
	for (unsigned i = 1; i <= 10; i++)
		tl_hook(net, packet_in, 100 * i, 0);
	(void)tl_verdict(sec, may_open, "other", 4);
}
