/* SPDX-License-Identifier: MIT */
/*
 * System calls of ours in a thread that has a seccomp filter, which may kill
 * it for them. Root can suspend a filter: for our own calls only, the program
 * goes on with it. For others such a thread is out of bounds.
 */
#define _GNU_SOURCE
#include <sys/ptrace.h>
#include <unistd.h>

#include "../../base/proc.h"
#include "../../machine/calls.h"
#include "../guardian.h"
#include "dispatch.h"
#include "remote.h"
#include "seccomp.h"

#ifndef PTRACE_O_SUSPEND_SECCOMP
#define PTRACE_O_SUSPEND_SECCOMP (1 << 21)
#endif

enum { MODE_FILTER = 2, SYS_ADMIN = 21 };

/* In a container everyone has the same filter, and it lets us live. */
static bool is_everyones(const char *status)
{
	uint64_t ours = 0;

	return proc_number(status, "Seccomp", 10) == MODE_FILTER &&
	       proc_field(status, "Seccomp_filters") &&
	       !proc_status(getpid(), "Seccomp_filters", 10, &ours) &&
	       proc_number(status, "Seccomp_filters", 10) == ours;
}

bool is_filtered(pid_t tid)
{
	char status[PROC_TEXT];

	return proc_read_of(tid, "status", status, sizeof(status)) > 0 &&
	       proc_number(status, "Seccomp", 10) && !is_everyones(status);
}

long trace_options(void)
{
	return PTRACE_O_TRACESYSGOOD | PTRACE_O_TRACECLONE | PTRACE_O_TRACEFORK |
	       PTRACE_O_TRACEVFORK | PTRACE_O_TRACEVFORKDONE | PTRACE_O_TRACEEXEC |
	       PTRACE_O_TRACEEXIT;
}

bool suspends_filters(void)
{
	char status[PROC_TEXT];

	return proc_read_of(getpid(), "status", status, sizeof(status)) > 0 &&
	       !proc_number(status, "Seccomp", 10) &&
	       proc_number(status, "CapEff", 16) >> SYS_ADMIN & 1;
}

bool calls_begin(struct guardian *g, struct thread *t)
{
	if (!dispatch_off(t))
		return false;
	if (!is_filtered(t->tid))
		return true;
	t->suspended =
		!ptrace(PTRACE_SETOPTIONS, t->tid, 0, trace_options() | PTRACE_O_SUSPEND_SECCOMP);
	g->barred |= !t->suspended;
	if (!t->suspended)
		dispatch_on(t);
	return t->suspended;
}

bool calls_barred(const struct guardian *g)
{
	const struct thread *t;

	for (t = g->threads; g->barred && t; t = t->next) {
		if (t->tgid == g->pid && thread_is_theirs(t) && !is_filtered(t->tid))
			return false;
	}
	return g->barred;
}

void calls_end(struct thread *t)
{
	if (t->suspended && !t->dead)
		ptrace(PTRACE_SETOPTIONS, t->tid, 0, trace_options());
	t->suspended = false;
	dispatch_on(t);
}

bool calls_aside(struct guardian *g, struct thread *t,
	bool (*calls)(struct guardian *g, struct thread *t, uint64_t at, void *arg), void *arg)
{
	enum { ROOM = 256 };
	struct machine_regs saved;
	bool ok, held = t->held;
	uint64_t mask, at;
	char keep[ROOM];

	if (regs_get(t->tid, &saved) || mask_get(t->tid, &mask))
		return false;
	at = (regs_sp(&saved) - machine.red_zone - ROOM) & ~15ull;
	if (target_read(g, t->tgid, at, keep, sizeof(keep)) != sizeof(keep) || !calls_begin(g, t))
		return false;
	mask_set(t->tid, ~0ull);
	thread_hold(t);
	ok = calls(g, t, at, arg);
	calls_end(t);
	thread_unhold(t, held);
	if (t->dead)
		return false;
	target_write(g, t->tgid, at, keep, sizeof(keep));
	regs_set(t->tid, &saved);
	mask_set(t->tid, mask);
	return ok;
}
