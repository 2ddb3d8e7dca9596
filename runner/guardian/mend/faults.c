/* SPDX-License-Identifier: MIT */
/*
 * A fault of the program in the copy of an instruction, which runs in a detour
 * instead of the instruction itself: its handler is to find the thread at the
 * instruction. If it returns, the instruction is run again as it stands in the
 * text: through its probe, which counts it once more.
 *
 * But for those inside a window: a jump stands there. A frame that leads to one
 * of them is led to the detour when the handler returns, which is its last
 * system call: until then, or until the frame is gone, those calls stop.
 */
#define _GNU_SOURCE
#include <signal.h>
#include <sys/ptrace.h>

#include "../../machine/calls.h"
#include "../guardian.h"
#include "../trace/concern.h"
#include "../trace/ours.h"
#include "../trace/remote.h"
#include "faults.h"

/* May the handler of a fault there go on inside a window, with this instruction or behind it? */
static bool in_window(struct guardian *g, uint64_t text)
{
	uint64_t i;

	for (i = 0; i <= machine.insn_max && !text_place(g, text + i); i++)
		;
	return i <= machine.insn_max;
}

static bool is_of_insn(int sig)
{
	return sig == SIGSEGV || sig == SIGBUS || sig == SIGFPE || sig == SIGILL || sig == SIGSYS;
}

/* Before the program gets a signal. */
void fault_at_delivery(struct guardian *g, struct thread *t, int *sig)
{
	struct machine_regs regs;
	siginfo_t info;
	uint64_t text;

	t->windowed = false;
	if (!g->ctl || !is_of_insn(*sig) || regs_get(t->tid, &regs))
		return;
	text = text_place(g, regs_pc(&regs));
	if (!text || !in_our_memory(g, regs_pc(&regs)) ||
		ptrace(PTRACE_GETSIGINFO, t->tid, 0, &info) || info.si_code <= 0)
		return;
	if ((uint64_t)(uintptr_t)info.si_addr == regs_pc(&regs)) { /* SIGSYS: the call's */
		info.si_addr = (void *)(uintptr_t)(text & ~TL_CTL_PUSHED);
		ptrace(PTRACE_SETSIGINFO, t->tid, 0, &info);
	}
	regs_pc_set(&regs, text & ~TL_CTL_PUSHED);
	if (text & TL_CTL_PUSHED)
		regs_sp_set(&regs, regs_sp(&regs) + sizeof(uint64_t));
	if (!regs_set(t->tid, &regs))
		t->windowed = in_window(g, regs_pc(&regs));
}

/* --- the way back ----------------------------------------------------------------------- */

static bool is_on_alternate(const struct thread *t, uint64_t sp)
{
	return sp - t->alternate < t->alternate_size;
}

/* With the stack pointer there, may the frame's handler still run? Its own pointer is below, or on another stack. */
static bool may_return(const struct thread *t, uint64_t sp)
{
	bool below = sp <= t->frame + sizeof(uint64_t), on = is_on_alternate(t, sp);

	return is_on_alternate(t, t->frame) ? on && below : on || below;
}

bool fault_wants_step(struct guardian *g, struct thread *t, int sig)
{
	(void)g, (void)sig;
	return t->windowed;
}

/* Is its handler's return waited for? Once the text is as it was, it may lead wherever it does. */
bool fault_is_followed(const struct guardian *g, const struct thread *t)
{
	return t->frame && !g->restored;
}

/* The handler begins. */
void fault_at_handler(struct guardian *g, struct thread *t)
{
	struct machine_regs regs;
	stack_t s;

	if (regs_get(t->tid, &regs) || (t->frame && may_return(t, regs_sp(&regs))) ||
		target_read(g, t->tgid, regs_sp(&regs) + machine.frame.alternate, &s, sizeof(s)) !=
			sizeof(s))
		return;
	t->frame = regs_sp(&regs);
	t->alternate = (uint64_t)(uintptr_t)s.ss_sp;
	t->alternate_size = s.ss_flags & SS_DISABLE ? 0 : s.ss_size;
}

/* It is about to return by this frame. */
static void lead_back(struct guardian *g, struct thread *t, uint64_t frame)
{
	uint64_t pc, to;

	if (target_read(g, t->tgid, frame + machine.frame.pc, &pc, sizeof(pc)) != sizeof(pc) ||
		in_our_memory(g, pc))
		return;
	to = text_place(g, pc);
	if (to)
		target_write(g, t->tgid, frame + machine.frame.pc, &to, sizeof(to));
}

/* A system call begins, or ends. */
enum verdict fault_at_call(struct guardian *g, struct thread *t)
{
	struct machine_regs regs;
	uint64_t frame;

	if (!t->frame || regs_get(t->tid, &regs))
		return PASS;
	frame = frame_returning(&regs);
	if (regs_call(&regs) == SYS_rt_sigreturn && call_begins(t->tid, &regs)) {
		lead_back(g, t, frame);
		if (frame == t->frame)
			t->frame = 0;
	} else if (!may_return(t, regs_sp(&regs))) {
		t->frame = 0;
	}
	return PASS;
}
