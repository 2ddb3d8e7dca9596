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
#include "alignment.h"
#include "handlers.h"
#include "trapmend.h"
#include "trapsvc.h"

static bool check_set(struct thread *t, bool on)
{
	struct machine_regs regs;

	return !regs_get(t->tid, &regs) && regs_alignment_check(&regs, on) &&
	       !regs_set(t->tid, &regs);
}

/* true: an access of ours was refused, and t is to make it by a step. What stands in a detour is the program's. */
bool alignment_faults(struct guardian *g, struct thread *t, int sig)
{
	uint64_t pc;

	if (sig != SIGBUS || !g->ctl || !pc_get(t, &pc) || !in_handler(g, pc) ||
		signal_code(t) != BUS_ADRALN)
		return false;
	signal_mend(g, t, FORCED_BUS);
	g->stops++;
	g->faulted |= !t->helper;
	t->unaligned = !t->dead && check_set(t, false);
	return t->unaligned || t->dead;
}

/*
 * t has stopped, behind the access or, for another reason, before it: then it is refused once more. Or another thread
 * has made this one another program.
 */
void alignment_again(struct thread *t)
{
	t->realigned = t->unaligned && t->status >> 16 != PTRACE_EVENT_EXEC;
	if (t->realigned)
		check_set(t, true);
	t->unaligned = false;
}

/* A SIGTRAP: was it that step's? */
bool alignment_stepped(struct thread *t)
{
	return t->realigned && trap_by_step(signal_code(t));
}
