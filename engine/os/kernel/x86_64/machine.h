/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/* x86-64: see ../machine.h. */
#ifndef TRAPLESS_ENGINE_OS_KERNEL_X86_64_MACHINE_H
#define TRAPLESS_ENGINE_OS_KERNEL_X86_64_MACHINE_H

#include <linux/extable.h>
#include <linux/kdebug.h>
#include <linux/version.h>

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

static inline bool tl_machine_current(int32_t *at)
{
#if LINUX_VERSION_CODE >= KERNEL_VERSION(6, 2, 0) && LINUX_VERSION_CODE < KERNEL_VERSION(6, 15, 0)
	*at = (int32_t)(uintptr_t)&pcpu_hot.current_task;
#else
	*at = (int32_t)(uintptr_t)&current_task;
#endif
	return true;
}

/* ENDBR64, if it is there; then ftrace's five bytes, if they are. */
enum { ENDBR_LEN = 4, FTRACE_LEN = 5 };
static inline unsigned tl_machine_endbr(const uint8_t *text)
{
	static const uint8_t endbr[ENDBR_LEN] = {0xf3, 0x0f, 0x1e, 0xfa};

	return memcmp(text, endbr, ENDBR_LEN) ? 0 : ENDBR_LEN;
}

#endif
