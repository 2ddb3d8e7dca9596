/* SPDX-License-Identifier: MIT */
/*
 * A signal from elsewhere (a profiler's, a timer's, a collector's) may meet a
 * thread in our memory, and its handler may look at what it has interrupted.
 * It is kept, the thread goes on, to the end of a handler (handlerend.c) and
 * by single steps, with all others of its kind blocked, so that none overtakes
 * it, and gets it in the program's own code, as it was: thus a little later,
 * which no program can tell.
 *
 * Delivered where they are: signals that meet a system call that ends because
 * of them, or a thread about to make one; one that is not out soon; and those
 * that come soon after a kept one: a thread steps for a quarter of its time.
 */
#define _GNU_SOURCE
#include <errno.h>
#include <signal.h>
#include <stddef.h>
#include <string.h>
#include <sys/ptrace.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "../proc.h"
#include "guardian.h"

enum {
	STEPS_MAX = 1000,
	REST = 3 /* times what the steps have taken */,
	INSN_MAX = 15,
	POPF = 0x9d,
	TRAP_FLAG = 0x100
};

/* Does the kernel look at what a call has returned, when it delivers a signal? */
static bool ends_call(const struct user_regs_struct *regs)
{
	const long first = -516, last = -512, result = (long)regs->rax;

	return (long)regs->orig_rax >= 0 &&
	       (result == -EINTR || (result >= first && result <= last));
}

/* A step's SIGTRAP must change nothing in the kernel's books: see trapmend.c. */
static bool may_step(struct thread *t, int sig)
{
	char text[PROC_TEXT];

	return proc_read_of(t->tid, "status", text, sizeof(text)) > 0 &&
	       proc_number(text, "SigCgt", 16) & signal_bit(sig) &&
	       !(proc_number(text, "SigIgn", 16) & signal_bit(SIGTRAP)) &&
	       !mask_get(t->tid, &t->kept.mask) && !(t->kept.mask & signals_of_insns());
}

/* About to be delivered to t. true: not here. What an instruction causes would, kept back, be forced. */
bool signal_keep(struct guardian *g, struct thread *t, int sig)
{
	struct user_regs_struct regs;

	if (!g->ctl || t->kept.sig || t->tgid != g->pid || t->helper || t->calling ||
		signal_bit(sig) & (signals_of_insns() | signal_bit(SIGSTOP)) ||
		regs_get(t->tid, &regs) || !in_our_memory(g, regs.rip) || ends_call(&regs) ||
		regs.eflags & TRAP_FLAG || now_ms() < t->rest_ms || !may_step(t, sig) ||
		ptrace(PTRACE_GETSIGINFO, t->tid, 0, &t->kept.info) ||
		mask_set(t->tid, t->kept.mask | ~signals_of_insns()))
		return false;
	t->kept.sig = sig;
	t->kept.steps = 0;
	t->kept.since_ms = now_ms();
	t->kept.pushes = t->kept.asked = t->kept.ran = false;
	return true;
}

/* --- steps ------------------------------------------------------------------------------ */

static bool is_prefix(uint8_t b)
{
	return b == 0x66 || b == 0x67 || (b & 0xf0) == 0x40 || (b & 0xfe) == 0xf2 ||
	       (b & 0xfe) == 0x64 || (b & 0xe7) == 0x26;
}

/* In a detour stand copies of whatever the program does. */
static bool is_steppable(struct guardian *g, struct thread *t, uint64_t pc)
{
	uint8_t code[INSN_MAX + 1] = {0};
	const uint8_t *p = code;

	if (in_handler(g, pc))
		return true;
	if (!target_read(g, t->tgid, pc, code, INSN_MAX))
		return false;
	while (is_prefix(*p))
		p++;
	t->kept.pushes |= *p == 0x9c;
	return *p != 0xcd && *p != POPF && *p != 0xcf &&
	       !(*p == 0x0f && (p[1] == 0x05 || p[1] == 0x34));
}

/*
 * Where a thread stands at a popf, the kernel takes the trap flag that it sets
 * for a step, into a handler too, for the program's own, and leaves it set. So
 * the guardian does in its place what that would do.
 */
void popf_over(struct guardian *g, struct thread *t)
{
	const uint64_t settable = 0x44cd5; /* CF PF AF ZF SF DF OF NT AC */
	const uint64_t resume_flag = 0x10000; /* is never pushed */
	struct user_regs_struct regs;
	uint64_t flags;
	uint8_t code;

	if (regs_get(t->tid, &regs) || (long)regs.orig_rax >= 0 ||
		target_read(g, t->tgid, regs.rip, &code, 1) != 1 || code != POPF ||
		target_read(g, t->tgid, regs.rsp, &flags, 8) != 8 ||
		(flags ^ regs.eflags) & ~(settable | resume_flag))
		return;
	regs.eflags = flags;
	regs.rsp += 8;
	regs.rip++;
	regs_set(t->tid, &regs);
}

/* The flags that it has pushed show the step. */
static void hide_step(struct guardian *g, struct thread *t)
{
	struct user_regs_struct regs;
	uint8_t flags;

	if (!t->kept.pushes || regs_get(t->tid, &regs) ||
		target_read(g, t->tgid, regs.rsp + 1, &flags, 1) != 1)
		return;
	flags &= (uint8_t) ~(TRAP_FLAG >> 8);
	target_write(g, t->tgid, regs.rsp + 1, &flags, 1);
	t->kept.pushes = false;
}

/* A SIGTRAP: is it of a step, or what we have asked for? TRAP_BRKPT: a step over a system call (a breakpoint is SI_KERNEL). */
bool signal_stepped(struct guardian *g, struct thread *t)
{
	int code = t->kept.sig ? signal_code(t) : 0;

	if (code != TRAP_TRACE && code != TRAP_BRKPT && !(code == TRAP_HWBKPT && t->kept.ran) &&
		!(code == SI_TKILL && t->kept.asked))
		return false;
	hide_step(g, t);
	t->kept.asked = false;
	g->stops++;
	return true;
}

static bool goes_on_inside(struct guardian *g, struct thread *t)
{
	uint64_t pc;

	popf_over(g, t);
	return pc_get(t, &pc) && (in_handler(g, pc) || in_our_memory(g, pc)) &&
	       is_steppable(g, t, pc) && t->kept.steps++ < STEPS_MAX;
}

/* --- delivery --------------------------------------------------------------------------- */

/* The kernel takes another one only where it tells of one. */
static bool at_signal(const struct thread *t)
{
	return !(t->status >> 16) && !(WSTOPSIG(t->status) & 0x80);
}

static int deliver(struct thread *t)
{
	int sig = t->kept.sig;
	double now = now_ms();

	t->rest_ms = now + REST * (now - t->kept.since_ms);
	t->kept.sig = 0;
	mask_set(t->tid, t->kept.mask);
	mask_learn(t, t->kept.mask);
	ptrace(PTRACE_SETSIGINFO, t->tid, 0, &t->kept.info);
	return sig;
}

/*
 * t is to go on, with *sig or without a signal, and one is kept for it. true:
 * by a step. A second one is the processor's, and will come again when the
 * handler of the first has ended; or somebody has sent it, and so do we.
 */
bool signal_steps(struct guardian *g, struct thread *t, int *sig)
{
	if (!t->kept.sig || t->calling)
		return false;
	handler_run_over(t);
	if (*sig == SIGSTOP || (!*sig && goes_on_inside(g, t)))
		return *sig || !handler_run(g, t);
	if (!at_signal(t)) {
		t->kept.asked = !syscall(SYS_tgkill, t->tgid, t->tid, SIGTRAP);
		return false;
	}
	if (*sig == SIGTRAP || (*sig && signal_code(t) <= 0))
		signal_again(t, *sig);
	*sig = deliver(t);
	return false;
}

bool signals_kept(const struct guardian *g)
{
	const struct thread *t;

	for (t = g->threads; t && (t->dead || !t->kept.sig); t = t->next)
		;
	return t;
}

/* --- a second one ----------------------------------------------------------------------- */

void signal_pass_on(const struct thread *from, struct thread *to, int sig)
{
	if (!to->owes)
		to->owes = !ptrace(PTRACE_GETSIGINFO, from->tid, 0, &to->owed);
	syscall(SYS_tgkill, to->tgid, to->tid, sig);
}

void signal_again(struct thread *t, int sig)
{
	signal_pass_on(t, t, sig);
}

/* About to be delivered. */
void signal_as_it_was(struct thread *t, int sig)
{
	if (!t->owes || t->owed.si_signo != sig)
		return;
	ptrace(PTRACE_SETSIGINFO, t->tid, 0, &t->owed);
	t->owes = false;
}
