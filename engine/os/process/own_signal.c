/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/* Own process: signal handlers without a C library. */
#include "own.h"

void tl_sigreturn(void);
__asm__(".text\n"
	".p2align 4\n"
	".globl tl_sigreturn\n"
	".hidden tl_sigreturn\n"
	".type tl_sigreturn, @function\n"
	"tl_sigreturn:\n"
	"	mov $15, %rax\n" /* TL_NR_rt_sigreturn; unwinders know a signal frame by these very bytes */
	"	syscall\n"
	".size tl_sigreturn, . - tl_sigreturn\n");

long tl_sigaction_get(int sig, struct tl_sigaction *old)
{
	return tl_syscall4(TL_NR_rt_sigaction, sig, 0, (long)old, sizeof(old->mask));
}

long tl_sigaction_set(
	int sig, uintptr_t handler, unsigned long flags, uint64_t mask, struct tl_sigaction *old)
{
	struct tl_sigaction sa = {
		.handler = handler,
		.flags = flags | TL_SA_RESTORER,
		.restorer = (uintptr_t)tl_sigreturn,
		.mask = mask,
	};

	return tl_syscall4(TL_NR_rt_sigaction, sig, (long)&sa, (long)old, sizeof(sa.mask));
}
