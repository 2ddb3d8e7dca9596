/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/* Own process: signal handlers without a C library. */
#include "own.h"

long tl_sigaction_get(int sig, struct tl_sigaction *old)
{
	return tl_syscall4(TL_NR_rt_sigaction, sig, 0, (long)old, sizeof(old->mask));
}

long tl_sigaction_set(
	int sig, uintptr_t handler, unsigned long flags, uint64_t mask, struct tl_sigaction *old)
{
	struct tl_sigaction sa = {
		.handler = handler,
		.flags = flags,
		.mask = mask,
	};

	tl_sigaction_finish(&sa);
	return tl_syscall4(TL_NR_rt_sigaction, sig, (long)&sa, (long)old, sizeof(sa.mask));
}
