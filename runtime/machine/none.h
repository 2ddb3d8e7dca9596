/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/* A machine that nobody has described yet. machine.h says what all this is. */
#ifndef TRAPLESS_RUNTIME_MACHINE_NONE_H
#define TRAPLESS_RUNTIME_MACHINE_NONE_H

enum { TL_DWARF_FP, TL_DWARF_SP, TL_DWARF_IP };

static inline const uintptr_t *tl_reg_at(const struct tl_regs *r, uint32_t n)
{
	return (void)r, (void)n, NULL;
}

#define TL_REG_ARGS 0
static inline uintptr_t *tl_reg_arg(struct tl_regs *r, uint32_t n)
{
	return (void)r, (void)n, NULL;
}

static inline uintptr_t *tl_reg_result(struct tl_regs *r)
{
	return (void)r, NULL;
}

#define TL_RETURN_POPS 0

#define TL_SYSCALL_ARGS	   0
#define TL_SYSCALL_SIZE	   0
#define TL_SYSCALL_RESTART UINT32_MAX
static inline uintptr_t *tl_reg_syscall_arg(struct tl_regs *r, uint32_t n)
{
	return (void)r, (void)n, NULL;
}

static inline bool tl_syscall_is_child(uint32_t number, const struct tl_regs *r)
{
	return (void)number, (void)r, false;
}

/* The engine's port has it. */
uint64_t tl_arch_cycles(void);
static inline uint64_t tl_cycles(void)
{
	return tl_arch_cycles();
}

static inline void tl_pause(void)
{
	__asm__ volatile("" ::: "memory");
}

#endif
