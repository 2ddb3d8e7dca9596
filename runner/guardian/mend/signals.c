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
#include <string.h>
#include <sys/ptrace.h>
#include <sys/wait.h>
#include <unistd.h>

#include "../../base/proc.h"
#include "../../machine/calls.h"
#include "../guardian.h"
#include "../trace/concern.h"
#include "../trace/ours.h"
#include "../trace/remote.h"
#include "../trace/traps.h"
#include "handlerend.h"
#include "masks.h"
#include "resent.h"
#include "signals.h"

enum {
	STEPS_MAX = 1000,
	REST = 3 /* times what the steps have taken */
};

/* Does the kernel look at what a call has returned, when it delivers a signal? */
static bool ends_call(const struct machine_regs *regs)
{
	const long result = regs_result(regs);

	return regs_call(regs) >= 0 &&
	       (result == -EINTR || (result >= RESTART_BLOCK && result <= RESTART_SYS));
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
static bool keep(struct guardian *g, struct thread *t, int sig)
{
	struct machine_regs regs;

	if (!g->ctl || t->kept.sig || t->tgid != g->pid || t->helper || t->calling ||
		signal_bit(sig) & (signals_of_insns() | signal_bit(SIGSTOP)) ||
		regs_get(t->tid, &regs) || !in_our_memory(g, regs_pc(&regs)) || ends_call(&regs) ||
		regs_steps(&regs) || now_ms() < t->rest_ms || !may_step(t, sig) ||
		ptrace(PTRACE_GETSIGINFO, t->tid, 0, &t->kept.info) ||
		mask_set(t->tid, t->kept.mask | ~signals_of_insns()))
		return false;
	t->kept.sig = sig;
	t->kept.steps = 0;
	t->kept.since_ms = now_ms();
	t->kept.pushes = t->kept.asked = t->kept.ran = false;
	return true;
}

void signal_at_delivery(struct guardian *g, struct thread *t, int *sig)
{
	if (keep(g, t, *sig))
		*sig = 0;
}

/* --- steps ------------------------------------------------------------------------------ */

/* In a detour stand copies of whatever the program does. */
static bool is_steppable(struct guardian *g, struct thread *t, uint64_t pc)
{
	uint8_t code[INSN_BYTES] = {0};
	enum stepping kind;

	if (in_handler(g, pc))
		return true;
	if (!target_read(g, t->tgid, pc, code, machine.insn_max))
		return false;
	kind = step_kind(code);
	t->kept.pushes |= kind == STEP_PUSHES;
	return kind != STEP_NOT;
}

static void step_spare(struct guardian *g, struct thread *t)
{
	struct target_memory m = target_memory(g, t->tgid);
	struct machine_regs regs;

	if (!regs_get(t->tid, &regs) && regs_call(&regs) < 0 && step_spared(&m.memory, &regs))
		regs_set(t->tid, &regs);
}

/* Before a step into the handler of sig. */
void signal_before_step(struct guardian *g, struct thread *t, int sig)
{
	if (!(signal_bit(sig) & signals_of_insns()))
		step_spare(g, t);
}

/* The flags that it has pushed show the step. */
static void hide_step(struct guardian *g, struct thread *t)
{
	struct target_memory m = target_memory(g, t->tgid);
	struct machine_regs regs;

	if (!t->kept.pushes || regs_get(t->tid, &regs))
		return;
	step_hide(&m.memory, &regs);
	t->kept.pushes = false;
}

/* A SIGTRAP: is it of a step, or what we have asked for? */
enum claim signal_at_trap(struct guardian *g, struct thread *t)
{
	int code = t->kept.sig ? signal_code(t) : 0;

	if (!trap_by_step(code) && !trap_by_step_over_call(code) &&
		!(code == TRAP_HWBKPT && t->kept.ran) && !(code == SI_TKILL && t->kept.asked))
		return NOT_MINE;
	hide_step(g, t);
	t->kept.asked = false;
	g->stops++;
	return MINE;
}

static bool goes_on_inside(struct guardian *g, struct thread *t)
{
	uint64_t pc;

	step_spare(g, t);
	return thread_pc(t, &pc) && (in_handler(g, pc) || in_our_memory(g, pc)) &&
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
bool signal_at_resume(struct guardian *g, struct thread *t, int *sig)
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
