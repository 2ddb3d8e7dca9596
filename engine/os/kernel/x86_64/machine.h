/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/* x86-64: see ../machine.h. */
#ifndef TRAPLESS_ENGINE_OS_KERNEL_X86_64_MACHINE_H
#define TRAPLESS_ENGINE_OS_KERNEL_X86_64_MACHINE_H

#include <linux/extable.h>
#include <linux/kdebug.h>
#include <linux/version.h>
#include <asm/nospec-branch.h>

#include "calls32.h"

enum { INT3_LEN = 1 };

static inline uintptr_t tl_machine_trapped(unsigned long what, struct pt_regs *regs)
{
	return what == DIE_INT3 && !user_mode(regs) ? regs->ip - INT3_LEN : 0;
}

static inline uintptr_t tl_machine_sp(const struct task_struct *t)
{
	return t->thread.sp;
}

static inline size_t tl_machine_label_len(const uint8_t *insn)
{
	enum { JMP8 = 0xeb, NOP2 = 0x66, SHORT = 2, LONG = 5 };

	return insn[0] == JMP8 || insn[0] == NOP2 ? SHORT : LONG;
}

static inline size_t tl_machine_static_call_len(const uint8_t *insn)
{
	enum { TWO = 0x0f, JCC = 0x80, CALL_LEN = 5, JCC_LEN = 6 };

	return insn[0] == TWO && (insn[1] & 0xf0) == JCC ? JCC_LEN : CALL_LEN;
}

static inline uintptr_t tl_machine_fault_at(const struct exception_table_entry *e)
{
	return (uintptr_t)&e->insn + (uintptr_t)(long)e->insn;
}

static inline uintptr_t tl_machine_fault_to(const struct exception_table_entry *e)
{
	return (uintptr_t)&e->fixup + (uintptr_t)(long)e->fixup;
}

static inline unsigned long *tl_machine_argument(struct pt_regs *regs)
{
	return &regs->di;
}

static inline bool tl_machine_checks_branches(void)
{
	return IS_ENABLED(CONFIG_X86_KERNEL_IBT) && boot_cpu_has(X86_FEATURE_IBT);
}

#define TL_MACHINE_RETURN "__x86_return_thunk"

static inline bool tl_machine_returns_by_thunk(void)
{
#ifdef X86_FEATURE_RETHUNK
	return boot_cpu_has(X86_FEATURE_RETHUNK);
#else
	return false;
#endif
}

enum { TL_STUB = 8, TL_STUB_JUMP = 6 }; /* jmp *disp(%rip); int3; int3 */

static inline uintptr_t tl_machine_stub(const uint8_t *code)
{
	int32_t disp;

	if (code[0] != 0xff || code[1] != 0x25 || code[6] != 0xcc || code[7] != 0xcc)
		return 0;
	memcpy(&disp, code + 2, sizeof(disp));
	return (uintptr_t)code + TL_STUB_JUMP + (uintptr_t)(long)disp;
}

static inline void tl_machine_stub_to(uint8_t *code, uintptr_t to)
{
	enum { JUMP = 0xe9, JUMP_LEN = 5, INT3 = 0xcc };
	int32_t disp = (int32_t)(to - (uintptr_t)code - JUMP_LEN);

	code[0] = JUMP;
	memcpy(code + 1, &disp, sizeof(disp));
	code[JUMP_LEN] = INT3;
}

/* The old stack pointer is the first word of the new stack: so the kernel's own unwind tables find the way back. */
static inline unsigned long tl_machine_call_on(void *top, void *fn, void *a, void *b, void *c)
{
	enum { ALIGNED = 16 };
	void *at = (char *)top - ALIGNED;

	asm volatile("movq %%rsp, (%[at])\n\t"
		     "movq %[at], %%rsp\n\t" CALL_NOSPEC "popq %%rsp"
		     : ASM_CALL_CONSTRAINT, [thunk_target] "+a"(fn), "+D"(a), "+S"(b),
		     "+d"(c), [at] "+b"(at)
		     :
		     : "rcx", "r8", "r9", "r10", "r11", "memory", "cc");
	return (unsigned long)fn;
}

static inline void tl_machine_called(
	struct tl_regs *to, void *fn, void *frame, const unsigned long args[TL_ARGUMENTS])
{
	*to = (struct tl_regs){
		.di = args[0],
		.si = args[1],
		.dx = args[2],
		.cx = args[3],
		.r8 = args[4],
		.r9 = args[5],
		.bp = *(unsigned long *)frame,
		.ip = (uintptr_t)fn,
		.sp = (uintptr_t)frame +
		      sizeof(long), /* behind the frame pointer: the return address */
	};
}

static inline void tl_machine_standing(
	struct pt_regs *to, unsigned long pc, unsigned long sp, unsigned long fp)
{
	*to = (struct pt_regs){.ip = pc, .sp = sp, .bp = fp, .cs = __KERNEL_CS, .ss = __KERNEL_DS};
}

static inline void tl_machine_interrupted(struct tl_regs *to, const struct pt_regs *from)
{
	*to = (struct tl_regs){
		.r15 = from->r15,
		.r14 = from->r14,
		.r13 = from->r13,
		.r12 = from->r12,
		.bp = from->bp,
		.bx = from->bx,
		.r11 = from->r11,
		.r10 = from->r10,
		.r9 = from->r9,
		.r8 = from->r8,
		.ax = from->ax,
		.cx = from->cx,
		.dx = from->dx,
		.si = from->si,
		.di = from->di,
		.flags = from->flags,
		.ip = from->ip,
		.sp = from->sp,
	};
}

static inline void tl_machine_place(
	const struct pt_regs *from, uint64_t *pc, uint64_t *sp, uint64_t *fp)
{
	*pc = from->ip;
	*sp = from->sp;
	*fp = from->bp;
}

static inline void tl_machine_asked(struct tl_regs *to, const struct pt_regs *from, long number)
{
	tl_machine_interrupted(to, from);
	to->ax = (uint64_t)number;
}

static inline void tl_machine_answered(
	struct tl_regs *to, const struct pt_regs *from, long number, long result)
{
	tl_machine_asked(to, from, result);
	to->r11 = (uint64_t)number;
}

/* x32's calls are ours with a bit in the number; those that only it has lie behind ours. */
static inline bool tl_machine_usual(struct pt_regs *to, const struct pt_regs *from, long *number)
{
	enum { X32 = 1 << 30, X32_ONLY = 512 };

	*to = *from;
	if (*number & X32) {
		*number &= ~(long)X32;
		return *number < X32_ONLY;
	}
	to->di = (uint32_t)from->bx;
	to->si = (uint32_t)from->cx;
	to->dx = (uint32_t)from->dx;
	to->r10 = (uint32_t)from->si;
	to->r8 = (uint32_t)from->di;
	to->r9 = (uint32_t)from->bp;
	*number = tl_call32(*number);
	return *number >= 0;
}

static inline long tl_machine_number(const struct pt_regs *regs)
{
	return (long)regs->orig_ax;
}

static inline int tl_machine_retpoline(const void *first, uintptr_t addr)
{
	enum { EACH = 32, REGISTERS = 16 }; /* bytes; in the order of their numbers */
	uintptr_t off = addr - (uintptr_t)first;

	return off % EACH || off / EACH >= REGISTERS ? -1 : (int)(off / EACH);
}

/*
 * As a processor comes, or comes back from sleep, before it takes exceptions by the kernel's own table, or while it does
 * not know its own memory: a breakpoint there is its end, and the machine's.
 */
#define TL_MACHINE_EARLY                                                                           \
	"secondary_startup_64", "secondary_startup_64_no_verify", "verify_cpu", "sev_verify_cbit", \
		"start_cpu0", "start_secondary", "cpu_init_secondary", "restore_processor_state",  \
		"__restore_processor_state"
/* The same, with all that they call. */
#define TL_MACHINE_EARLY_CALLS "early_setup_idt", "cr4_init", "cpu_init_exception_handling"

/* ENDBR64, or what a kernel puts there where nobody branches to; then ftrace's five bytes. */
enum { ENDBR_LEN = 4, FTRACE_LEN = 5 };
static inline unsigned tl_machine_endbr(const uint8_t *text)
{
	static const uint8_t endbr[ENDBR_LEN] = {0xf3, 0x0f, 0x1e, 0xfa};
	static const uint8_t sealed[ENDBR_LEN] = {0x66, 0x0f, 0x1f, 0x00};

	return memcmp(text, endbr, ENDBR_LEN) && memcmp(text, sealed, ENDBR_LEN) ? 0 : ENDBR_LEN;
}

#endif
