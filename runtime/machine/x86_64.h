/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/* x86-64, System V ABI. machine.h says what all this is. */
#ifndef TRAPLESS_RUNTIME_MACHINE_X86_64_H
#define TRAPLESS_RUNTIME_MACHINE_X86_64_H

enum { TL_DWARF_FP = 6, TL_DWARF_SP = 7, TL_DWARF_IP = 16 };

static inline const uintptr_t *tl_reg_at(const struct tl_regs *r, uint32_t n)
{
	static const uint8_t at[] = {
		offsetof(struct tl_regs, ax),
		offsetof(struct tl_regs, dx),
		offsetof(struct tl_regs, cx),
		offsetof(struct tl_regs, bx),
		offsetof(struct tl_regs, si),
		offsetof(struct tl_regs, di),
		offsetof(struct tl_regs, bp),
		offsetof(struct tl_regs, sp),
		offsetof(struct tl_regs, r8),
		offsetof(struct tl_regs, r9),
		offsetof(struct tl_regs, r10),
		offsetof(struct tl_regs, r11),
		offsetof(struct tl_regs, r12),
		offsetof(struct tl_regs, r13),
		offsetof(struct tl_regs, r14),
		offsetof(struct tl_regs, r15),
		offsetof(struct tl_regs, ip),
	};

	return n < sizeof(at) ? (const uintptr_t *)((const char *)r + at[n]) : NULL;
}

#define TL_REG_ARGS 6
static inline uintptr_t *tl_reg_arg(struct tl_regs *r, uint32_t n)
{
	static const uint8_t at[TL_REG_ARGS] = {
		offsetof(struct tl_regs, di),
		offsetof(struct tl_regs, si),
		offsetof(struct tl_regs, dx),
		offsetof(struct tl_regs, cx),
		offsetof(struct tl_regs, r8),
		offsetof(struct tl_regs, r9),
	};

	return (uintptr_t *)((char *)r + at[n]);
}

static inline uintptr_t *tl_reg_result(struct tl_regs *r)
{
	return (uintptr_t *)&r->ax;
}

#define TL_RETURN_POPS 8

/* The kernel's fourth is r10: `syscall` takes rcx. */
#define TL_SYSCALL_ARGS	   6
#define TL_SYSCALL_SIZE	   2
#define TL_SYSCALL_RESTART 219u
static inline uintptr_t *tl_reg_syscall_arg(struct tl_regs *r, uint32_t n)
{
	return n == 3 ? (uintptr_t *)&r->r10 : tl_reg_arg(r, n);
}

/* With its parent's stack pointer and, while it shares memory, its notes. */
static inline bool tl_syscall_is_child(uint32_t number, const struct tl_regs *r)
{
	enum { CLONE = 56, FORK = 57, VFORK = 58, CLONE3 = 435 };

	return !r->ax && (number == CLONE || number == FORK || number == VFORK || number == CLONE3);
}

static inline uint64_t tl_cycles(void)
{
	uint32_t lo, hi;

	__asm__ volatile("rdtsc" : "=a"(lo), "=d"(hi));
	return (uint64_t)hi << 32 | lo;
}

static inline void tl_pause(void)
{
	__asm__ volatile("pause");
}

#endif
