/* SPDX-License-Identifier: MIT */
/* Why a thread has stopped: its signal, and breakpoints of ours. */
#define _GNU_SOURCE
#include <signal.h>
#include <string.h>
#include <sys/ptrace.h>

#include "../../base/proc.h"
#include "../guardian.h"
#include "loop.h"
#include "traps.h"

/* What is known of the breakpoint at addr, NULL: never one of ours. */
const struct tl_ctl_trap *trap_find(struct guardian *g, uint64_t addr)
{
	uint32_t i = tl_ctl_trap_hash(addr), n;

	for (n = 0; n < TL_CTL_TRAPS; n++, i = (i + 1) & (TL_CTL_TRAPS - 1)) {
		const struct tl_ctl_trap *t = &g->ctl->traps[i];
		uint64_t at = __atomic_load_n(&t->addr, __ATOMIC_ACQUIRE);

		if (!at)
			return NULL;
		if (at == addr)
			return t;
	}
	return NULL;
}

int signal_code(struct thread *t)
{
	siginfo_t info;

	return ptrace(PTRACE_GETSIGINFO, t->tid, 0, &info) ? 0 : info.si_code;
}

/* Does this SIGTRAP come from a breakpoint? Others send it too. */
bool trap_is_breakpoint(struct thread *t)
{
	return trap_by_breakpoint(signal_code(t));
}

bool thread_pc(struct thread *t, uint64_t *pc)
{
	return !pc_read(t->tid, pc);
}

void thread_pc_set(struct thread *t, uint64_t pc)
{
	pc_write(t->tid, pc);
}

uint64_t signals_waiting(const struct thread *t)
{
	char text[PROC_TEXT];
	uint64_t pending;

	if (proc_read_of(t->tid, "status", text, sizeof(text)) <= 0)
		return 0;
	pending = proc_number(text, "SigPnd", 16) | proc_number(text, "ShdPnd", 16);
	return pending & ~proc_number(text, "SigBlk", 16) & ~proc_ignored(text);
}

/* The first may be of the program's entry: see launch.c. */
uint32_t watch_hits_of(const struct guardian *g, const struct thread *t)
{
	return g->watchpoints_known ? watch_hits(t->tid) & (g->entry ? ~1u : ~0u) : 0;
}

bool watchpoint_is_due(const struct guardian *g, const struct thread *t)
{
	return watch_hits_of(g, t) != 0;
}

/* It has run into one, and was stopped for something else before its SIGTRAP came to be told. */
bool trap_is_due(struct guardian *g, struct thread *t)
{
	uint64_t pc;

	return ((g->ctl && thread_pc(t, &pc) && trap_find(g, breakpoint_before(pc))) ||
		       watchpoint_is_due(g, t)) &&
	       signals_waiting(t) >> (SIGTRAP - 1) & 1;
}

void traps_first(struct guardian *g, struct thread *t)
{
	bool held = t->held;

	thread_hold(t);
	while (action_known(g, FORCED_TRAP) && loop_event(g, false))
		;
	thread_unhold(t, held);
}

bool action_known(const struct guardian *g, enum forced f)
{
	return g->actions[f].handler != (uint64_t)(uintptr_t)SIG_DFL;
}
