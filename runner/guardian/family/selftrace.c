/* SPDX-License-Identifier: MIT */
/*
 * A program whose own threads are traced for a while by a process that it makes for that: LeakSanitizer's, as the
 * program ends. The kernel would refuse it, as they are ours. So that process is to be seen, which asks the kernel to
 * show it to nobody: its clone() is watched. As soon as it seizes a thread all that needs us is put aside, as for a
 * child that is let go of (traceme.c), and each thread is let go of in the call that asks for it. When it ends all of
 * them are ours again.
 */
#define _GNU_SOURCE
#include <linux/sched.h>
#include <string.h>
#include <sys/ptrace.h>

#include "../guardian.h"
#include "../leave/journal.h"
#include "../mend/masks.h"
#include "../trace/cloning.h"
#include "../trace/ours.h"
#include "../trace/publish.h"
#include "../trace/traps.h"
#include "selftrace.h"
#include "traceme.h"

/* It stands before its clone(). */
void selftrace_shows(struct thread *t, struct machine_regs *regs)
{
	uint64_t flags = regs_call_arg(regs, 0);

	if (!(flags & CLONE_UNTRACED) || !(flags & CLONE_VM) || flags & CLONE_THREAD)
		return;
	regs_call_arg_set(regs, 0, flags & ~(uint64_t)CLONE_UNTRACED);
	regs_set(t->tid, regs);
}

/* A thread of the program, which goes on where it stands without us. */
bool selftrace_may_part(struct guardian *g, struct thread *t)
{
	uint64_t pc;

	return t->status >> 8 == (SIGTRAP | PTRACE_EVENT_STOP << 8) && !t->kept.sig && !t->owes &&
	       !t->own_trap && !t->untold && !t->again.on && thread_pc(t, &pc) &&
	       !in_handler(g, pc);
}

/* At its first such call. false: that is refused. */
bool selftrace_begin(struct guardian *g, struct thread *t)
{
	if (g->data_watched || g->let_go) /* threads would meet their watchpoints */
		return false;
	g->let_go = g->own_tracer = t->tid;
	gate_set(g, 0);
	g->silences++;
	__atomic_fetch_or(&g->ctl->watcher, TL_CTL_FUTEX_DIED, __ATOMIC_SEQ_CST);
	if (!breakpoints_out(g))
		return true;
	selftrace_over(g, t);
	return false;
}

/* It ends, and has let go of all; or it has ended. */
void selftrace_over(struct guardian *g, struct thread *t)
{
	struct thread *o;

	if (g->own_tracer != t->tid || (cloning_await(g) && !t->dead))
		return;
	g->error[0] = 0;
	g->own_tracer = 0;
	for (o = g->threads; o; o = o->next)
		o->parts = false;
	threads_publish(g);
	masks_learn(g);
	__atomic_fetch_and(&g->ctl->watcher, ~(uint32_t)TL_CTL_FUTEX_DIED, __ATOMIC_SEQ_CST);
	traceme_over(g, 0);
}
