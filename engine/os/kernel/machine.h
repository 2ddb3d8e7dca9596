/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/* What the kernel home asks of the machine. Its folder's machine.h gives what is declared here, inline. */
#ifndef TRAPLESS_ENGINE_OS_KERNEL_MACHINE_H
#define TRAPLESS_ENGINE_OS_KERNEL_MACHINE_H

#include <linux/extable.h>
#include <linux/ptrace.h>
#include <linux/sched.h>
#include <trapless/regs.h>

/* Of a notification of the die chain: where the kernel's own code ran into a breakpoint; 0: it is another one. Any context. */
static inline uintptr_t tl_machine_trapped(unsigned long what, struct pt_regs *regs);
/* Does it fault where an indirect branch lands elsewhere than at a landing pad? */
static inline bool tl_machine_checks_branches(void);
/* Do functions return by a jump to tl_names.return_thunk, on this processor? */
static inline bool tl_machine_returns_by_thunk(void);
/* TL_MACHINE_RETURN: the name by which modules' functions jump there. */
/* Of a module's stub, TL_STUB bytes that jump by a word of memory: where that word lies, as the code stands; 0: it is none. */
static inline uintptr_t tl_machine_stub(const uint8_t *code);
/* Make that a jump to `to`, which is in reach. */
static inline void tl_machine_stub_to(uint8_t *code, uintptr_t to);
/* The register of the one at `addr`, of those that begin at `first`; -1: there is none. */
static inline int tl_machine_retpoline(const void *first, uintptr_t addr);
/* Length of the landing pad for indirect jumps there, 0: it is none. */
static inline unsigned tl_machine_endbr(const uint8_t *text);
/* Of a task that is switched out: its stack pointer. */
static inline uintptr_t tl_machine_sp(const struct task_struct *t);
/* Bytes of a jump label's instruction, and of a static call's, as they stand there now: TL_LABEL_MAX are given. */
static inline size_t tl_machine_label_len(const uint8_t *insn);
static inline size_t tl_machine_static_call_len(const uint8_t *insn);
/* Of an exception table's entry: which instruction, and where control goes on when it has faulted. */
static inline uintptr_t tl_machine_fault_at(const struct exception_table_entry *e);
static inline uintptr_t tl_machine_fault_to(const struct exception_table_entry *e);
/* At the entry of a function: its first argument. */
static inline unsigned long *tl_machine_argument(struct pt_regs *regs);
/* fn(a, b, c), called on another stack, which ends at `top`, a multiple of 16. Preemption is off. */
static inline unsigned long tl_machine_call_on(void *top, void *fn, void *a, void *b, void *c);
/* As at the entry of a function of ours that has these arguments in registers; `frame` is its __builtin_frame_address(0). */
enum { TL_ARGUMENTS = 6 };
static inline void tl_machine_called(
	struct tl_regs *to, void *fn, void *frame, const unsigned long args[TL_ARGUMENTS]);
/* Where the kernel's own code stands; registers that tell nothing of its stack are 0. */
static inline void tl_machine_standing(
	struct pt_regs *to, unsigned long pc, unsigned long sp, unsigned long fp);
/* All of them, of whoever was interrupted. */
static inline void tl_machine_interrupted(struct tl_regs *to, const struct pt_regs *from);
/* Where they stand: the addresses of code, stack and frame. */
static inline void tl_machine_place(
	const struct pt_regs *from, uint64_t *pc, uint64_t *sp, uint64_t *fp);
/* Of a program, as at the instruction of a system call of that number; and behind it, as wire.h's TRACE has them. */
static inline void tl_machine_asked(struct tl_regs *to, const struct pt_regs *from, long number);
static inline void tl_machine_answered(
	struct tl_regs *to, const struct pt_regs *from, long number, long result);
/* Of a program that makes its calls in another way (in_compat_syscall()): its registers as if it were a usual one, and the
 * usual number of that call. False: there is no such call. */
static inline bool tl_machine_usual(struct pt_regs *to, const struct pt_regs *from, long *number);
static inline long tl_machine_number(const struct pt_regs *regs); /* behind it: of the call */

#if defined(CONFIG_X86_64)
#include "x86_64/machine.h"
#else
#error "the kernel home has no folder for this machine yet"
#endif

#endif
