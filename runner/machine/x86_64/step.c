/* SPDX-License-Identifier: MIT */
/*
 * Breakpoints, and steps by the trap flag.
 *
 * Where a thread stands at a popf, the kernel takes the trap flag that it sets
 * for a step, into a handler too, for the program's own, and leaves it set. So
 * what that would do is done in its place.
 */
#define _GNU_SOURCE
#include <signal.h>
#include <sys/ptrace.h>

#include "x86_64.h"

enum { PUSHF = 0x9c, POPF = 0x9d, INT = 0xcd, IRET = 0xcf, TRAP_FLAG = 0x100 };

bool trap_by_breakpoint(int code)
{
	return code == SI_KERNEL;
}

bool trap_by_step(int code)
{
	return code == TRAP_TRACE;
}

bool trap_by_step_over_call(int code)
{
	return code == TRAP_BRKPT;
}

long step_begin(pid_t tid, int sig)
{
	return ptrace(PTRACE_SINGLESTEP, tid, 0, (long)sig);
}

void step_end(pid_t tid)
{
	(void)tid; /* the kernel has cleared the flag */
}

static bool is_prefix(uint8_t b)
{
	return b == 0x66 || b == 0x67 || (b & 0xf0) == 0x40 || (b & 0xfe) == 0xf2 ||
	       (b & 0xfe) == 0x64 || (b & 0xe7) == 0x26;
}

enum stepping step_kind(const uint8_t *code)
{
	const uint8_t *p = code;

	while (p < code + machine.insn_max && is_prefix(*p))
		p++;
	if (*p == INT || *p == POPF || *p == IRET ||
		(*p == 0x0f && (p[1] == 0x05 || p[1] == 0x34))) /* syscall, sysenter */
		return STEP_NOT;
	return *p == PUSHF ? STEP_PUSHES : STEP_PLAIN;
}

bool step_spared(const struct machine_memory *m, struct machine_regs *r)
{
	const uint64_t settable = 0x44cd5; /* CF PF AF ZF SF DF OF NT AC */
	const uint64_t resume_flag = 0x10000; /* is never pushed */
	struct user_regs_struct *u = user_regs(r);
	uint64_t flags;
	uint8_t code;

	if (m->read(m, u->rip, &code, 1) != 1 || code != POPF ||
		m->read(m, u->rsp, &flags, sizeof(flags)) != sizeof(flags) ||
		(flags ^ u->eflags) & ~(settable | resume_flag))
		return false;
	u->eflags = flags;
	u->rsp += sizeof(flags);
	u->rip++;
	return true;
}

void step_hide(const struct machine_memory *m, const struct machine_regs *r)
{
	uint64_t at = regs_sp(r) + 1;
	uint8_t flags;

	if (m->read(m, at, &flags, 1) != 1)
		return;
	flags &= (uint8_t) ~(TRAP_FLAG >> 8);
	m->write(m, at, &flags, 1);
}

bool regs_steps(const struct machine_regs *r)
{
	return user_regs_const(r)->eflags & TRAP_FLAG;
}
