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

#define TL_RETURN_POPS	   8
#define TL_SYSCALL_ARGS	   6
#define TL_SYSCALL_SIZE	   2
#define TL_SYSCALL_RESTART 219u

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
