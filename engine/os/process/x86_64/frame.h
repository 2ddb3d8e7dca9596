/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/* x86-64: see ../frame.h. */
#ifndef TRAPLESS_ENGINE_OS_PROCESS_X86_64_FRAME_H
#define TRAPLESS_ENGINE_OS_PROCESS_X86_64_FRAME_H

#include <stdint.h>

#define TL_SIGTRAP	5
#define TL_SIG_LAST	64
#define TL_SIG_FIRST_RT 34
#define TL_SA_SIGINFO	4ul
#define TL_SA_RESTORER	0x04000000ul
#define TL_SA_ONSTACK	0x08000000ul
#define TL_SA_RESTART	0x10000000ul
#define TL_SA_NODEFER	0x40000000ul
#define TL_SA_RESETHAND 0x80000000ul
#define TL_SIG_DFL	0ul
#define TL_SIG_IGN	1ul
#define TL_SI_QUEUE	(-1)

enum { TL_RED_ZONE = 128, TL_BREAKPOINT_STEP = 1 };

struct tl_sigaction {
	uintptr_t handler;
	unsigned long flags;
	uintptr_t restorer;
	uint64_t mask;
};

struct tl_siginfo {
	int32_t signo, err, code, pad;
	int32_t pid;
	uint32_t uid;
	uint64_t value;
	uint64_t rest[12];
};

/* Saved registers, as they stand in a signal frame. */
struct tl_sigcontext {
	uint64_t r8, r9, r10, r11, r12, r13, r14, r15, di, si, bp, bx, dx, ax, cx, sp, ip, flags;
	uint16_t cs, gs, fs, ss;
	uint64_t err, trapno, oldmask, cr2, fpstate, reserved[8];
};

struct tl_ucontext {
	uint64_t flags;
	struct tl_ucontext *link;
	uint64_t stack[3];
	struct tl_sigcontext mc;
	uint64_t mask;
};

/* What the kernel leaves on a stack, above the handler's return address. */
struct tl_sigframe {
	struct tl_ucontext uc;
	struct tl_siginfo info;
};
#define TL_SIGFRAME_IP offsetof(struct tl_sigframe, uc.mc.ip)

READS_STACKS static inline uintptr_t tl_context_ip(const struct tl_ucontext *uc)
{
	return uc->mc.ip;
}

READS_STACKS static inline uintptr_t tl_context_sp(const struct tl_ucontext *uc)
{
	return uc->mc.sp;
}

READS_STACKS static inline void tl_context_set_ip(struct tl_ucontext *uc, uintptr_t to)
{
	*(volatile uint64_t *)&uc->mc.ip = to;
}

/* By the flags and segments behind the program counter. */
READS_STACKS static inline bool tl_frame_at(uintptr_t *at, const uintptr_t *end, struct tl_frame *f)
{
	const uint64_t always = 1 << 1 | 1 << 9, never = ~0x3f7fd7ull;
	const uint64_t user_cs = 0x33, user_ss = 0x2b;
	struct tl_sigframe *frame = (void *)((uintptr_t)at - TL_SIGFRAME_IP);
	uint64_t segments;

	if ((size_t)(end - at) * sizeof(*at) < sizeof(struct tl_sigframe) - TL_SIGFRAME_IP)
		return false;
	if ((at[1] & always) != always || (at[1] & never))
		return false;
	segments = at[2];
	if ((segments & 0xffff) != user_cs || (segments >> 48 != user_ss && segments >> 48 != 0))
		return false;
	*f = (struct tl_frame){&frame->uc, &frame->info};
	return true;
}

/* The number of the trap in the saved registers tells nothing: the kernel leaves it as it was in a process that has, or had, uprobes. */
READS_STACKS static inline bool tl_own_trapped(const struct tl_siginfo *info)
{
	const int by_kernel = 0x80;

	return info->signo == TL_SIGTRAP && info->code == by_kernel;
}

#endif
