/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/* The traced thread's registers, and by them a function's arguments and result. */
#ifndef TRAPLESS_RUNTIME_SCRIPT_REGISTER_H
#define TRAPLESS_RUNTIME_SCRIPT_REGISTER_H

#include "../machine/machine.h"
#include "number.h"

/* Registers: by DWARF number; may fail. Call-preserved ones need TL_TAP_PROBE_REGS. */
int64_t tl_reg_none(struct tl_run *run);
static inline int64_t tl_reg(struct tl_run *run, uint32_t dwarf)
{
	const uintptr_t *at = run->regs ? tl_reg_at(run->regs, dwarf) : NULL;

	if (tl_likely(at))
		return (int64_t)*at;
	return tl_reg_none(run);
}
/* By name: "rax", "eax", "ax", "al"; may fail. A function that calls it says so: registers. */
int64_t tl_register(struct tl_run *run, const struct tl_str *name, bool is_signed);
/*
 * Argument n (from 1) by the calling convention, valid at function entry; may
 * fail. size 1, 2, 4, 8: cut to that and extended.
 */
int64_t tl_arg_slow(struct tl_run *run, int64_t n, uint32_t size, bool is_signed);
static inline int64_t tl_arg(struct tl_run *run, int64_t n, uint32_t size, bool is_signed)
{
	if (tl_likely(run->regs && n >= 1 && n <= TL_REG_ARGS && !run->env->at_syscall))
		return tl_extend(*tl_reg_arg(run->regs, (uint32_t)n - 1), size, is_signed);
	return run->whole ? tl_arg_slow(run->whole, n, size, is_signed) : tl_run_again(run);
}
int64_t tl_returnval(struct tl_run *run); /* may fail */
/* The same, to be found there by the function, or its caller: may fail. */
void tl_arg_set(struct tl_run *run, int64_t n, uint32_t size, int64_t value);
void tl_returnval_set(struct tl_run *run, int64_t value);
int64_t tl_addr(struct tl_run *run); /* of the probed instruction */
/* Of the program: in a kernel where its thread has left it, 0: it is the kernel's own. */
int64_t tl_uaddr(struct tl_run *run);
/* Is it a program's own code that the probe has stopped? */
int64_t tl_user_mode(struct tl_run *run);
int64_t tl_caller_addr(
	struct tl_run *run); /* at function entry and in RETURN probes; 0 elsewhere */

#endif
