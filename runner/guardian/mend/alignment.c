/* SPDX-License-Identifier: MIT */
/*
 * A program may run with alignment checking on, to find its own misaligned accesses. Handlers and the agent
 * make such accesses, and detours leave that flag as it is, for to look at it costs more than an empty hit. So each
 * access that is refused is made by one step with the flag off: it is off for that instruction alone.
 */
#define _GNU_SOURCE
#include <signal.h>
#include <sys/ptrace.h>

#include "../guardian.h"
#include "../trace/concern.h"
#include "../trace/ours.h"
#include "../trace/traps.h"
#include "alignment.h"
#include "trapmend.h"

static bool check_set(struct thread *t, bool on)
{
	struct machine_regs regs;

	return !regs_get(t->tid, &regs) && regs_alignment_check(&regs, on) &&
	       !regs_set(t->tid, &regs);
}

/* An access of ours was refused: t is to make it by a step. What stands in a detour is the program's. */
enum verdict alignment_at_signal(struct guardian *g, struct thread *t, int sig)
{
	uint64_t pc;

	if (sig != SIGBUS || !g->ctl || !thread_pc(t, &pc) || !in_handler(g, pc) ||
		signal_code(t) != BUS_ADRALN)
		return PASS;
	signal_mend(g, t, FORCED_BUS);
	g->stops++;
	g->faulted |= !t->helper;
	t->unaligned = !t->dead && check_set(t, false);
	return t->unaligned || t->dead ? GOES : PASS;
}

/*
 * t has stopped, behind the access or, for another reason, before it: then it is refused once more. Or another thread
 * has made this one another program.
 */
enum verdict alignment_at_stop(struct guardian *g, struct thread *t)
{
	(void)g;
	t->realigned = t->unaligned && t->status >> 16 != PTRACE_EVENT_EXEC;
	if (t->realigned)
		check_set(t, true);
	t->unaligned = false;
	return PASS;
}

enum claim alignment_at_trap(struct guardian *g, struct thread *t)
{
	(void)g;
	return t->realigned && trap_by_step(signal_code(t)) ? MINE : NOT_MINE;
}
