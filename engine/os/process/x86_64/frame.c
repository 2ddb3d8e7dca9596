/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/* x86-64: signal frames. */
#include "../own.h"

enum { INT3 = 0xcc, INT_N = 0xcd, BREAKPOINT = 3 };

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

void tl_sigaction_finish(struct tl_sigaction *sa)
{
	sa->flags |= TL_SA_RESTORER;
	sa->restorer = (uintptr_t)tl_sigreturn;
}

void tl_siginfo_queue(struct tl_siginfo *info, int sig, int32_t pid, uint64_t value)
{
	*info = (struct tl_siginfo){.signo = sig, .code = TL_SI_QUEUE, .pid = pid, .value = value};
}

uint64_t tl_siginfo_value(const struct tl_siginfo *info)
{
	return info->value;
}

size_t tl_context_words(const struct tl_ucontext *uc, const uintptr_t **words)
{
	*words = &uc->mc.r8;
	return (size_t)(&uc->mc.ip + 1 - &uc->mc.r8);
}

bool tl_breakpoint_gone(uintptr_t at)
{
	const volatile uint8_t *p = (const volatile uint8_t *)at;

	if (p[0] == INT3)
		return false;
	return p[0] != BREAKPOINT || p[-1] != INT_N; /* the two-byte form is the program's own */
}
