/* SPDX-License-Identifier: MIT */
/*
 * A signal that the processor forces on a thread leaves traces in the kernel's
 * own books: where it was blocked or ignored, the kernel unblocks it and resets
 * the program's disposition to the default. Both are put back before the thread
 * goes on: of SIGTRAP after each breakpoint, of SIGSEGV and SIGBUS where a
 * handler has read what is not there.
 *
 * The handler is lost by the reset, so it must be known before: it is read
 * before the first breakpoint stands, and then the C library's system call
 * that changes it is watched, by a breakpoint too. Where no such place is
 * found (or a program makes that call by itself), it is looked at every few
 * milliseconds while hits come. Where no breakpoint stands, all this begins
 * behind the arming, and only for handlers that may fault, and for breakpoints
 * that come for a moment while a jump is written.
 *
 * Whether the signal was blocked cannot be read after the fact: masks.c.
 */
#define _GNU_SOURCE
#include <signal.h>
#include <string.h>

#include "../../base/proc.h"
#include "../../machine/calls.h"
#include "../guardian.h"
#include "../family/selftrace.h"
#include "../trace/remote.h"
#include "../trace/seccomp.h"
#include "../trace/threads.h"
#include "../trace/traps.h"
#include "masks.h"
#include "trapmend.h"

enum { LOOK_EVERY_MS = 5 };

static const int signals[FORCED] = {
	[FORCED_TRAP] = SIGTRAP, [FORCED_SEGV] = SIGSEGV, [FORCED_BUS] = SIGBUS};

static uint64_t bit(enum forced f)
{
	return signal_bit(signals[f]);
}

static bool is_default(pid_t tid, enum forced f)
{
	char text[PROC_TEXT];

	if (proc_read_of(tid, "status", text, sizeof(text)) <= 0)
		return true;
	return !((proc_number(text, "SigIgn", 16) | proc_number(text, "SigCgt", 16)) & bit(f));
}

/* To be read, or written. */
struct action_wish {
	enum forced f;
	bool set;
};

static int action_write(
	struct guardian *g, const struct thread *t, uint64_t at, const struct signal_action *a)
{
	uint8_t bytes[ACTION_MAX];

	action_to(a, bytes);
	return target_write(g, t->tgid, at, bytes, action_size());
}

static int action_read(
	struct guardian *g, const struct thread *t, uint64_t at, struct signal_action *a)
{
	uint8_t bytes[ACTION_MAX];

	if (target_read(g, t->tgid, at, bytes, action_size()) != action_size())
		return -1;
	action_from(a, bytes);
	return 0;
}

/* By a call of a stopped thread; `at`: room in its memory. */
static bool action_call(struct guardian *g, struct thread *t, uint64_t at, void *arg)
{
	const struct action_wish *w = arg;
	enum forced f = w->f;
	const uint64_t sig = (uint64_t)signals[f], size = action_mask_size();
	struct signal_action now;

	if (w->set)
		return !action_write(g, t, at, &g->actions[f]) &&
		       !remote_call(g, t, SYS_rt_sigaction, sig, at, 0, size, 0, 0);
	if (remote_call(g, t, SYS_rt_sigaction, sig, 0, at, size, 0, 0) ||
		action_read(g, t, at, &now))
		return false;
	/* Else another thread's trap may have come in between; or what we were told is not done yet. */
	if (now.handler && !g->action_heard[f])
		g->actions[f] = now;
	return now.handler;
}

static bool action_by(struct guardian *g, struct thread *t, enum forced f, bool set)
{
	struct action_wish w = {f, set};

	return calls_aside(g, t, action_call, &w);
}

/*
 * Nobody tells of changes: look for them all, since the next reset may be another's; but not at every hit. A fault, which
 * is rare, does not wait for that as long as its handler is not known: the next one may find it reset.
 */
static void look(struct guardian *g, struct thread *t, enum forced forced)
{
	bool urgent = forced != FORCED_TRAP && !action_known(g, forced);
	double now = now_ms();
	int f;

	if (now - g->action_read_ms <= LOOK_EVERY_MS && !urgent)
		return;
	g->action_read_ms = now;
	for (f = 0; f < FORCED && !t->dead; f++)
		if (!is_default(t->tid, f))
			action_by(g, t, f, false);
}

/* After a signal that code of ours has caused: all as it was before. */
void signal_mend(struct guardian *g, struct thread *t, enum forced f)
{
	bool blocked, lost;
	uint64_t mask;

	if (mask_get(t->tid, &mask))
		return;
	blocked = mask_had(t, mask, signals[f]);
	if (t->tgid == g->pid) { /* a vfork child's dispositions end with its exec */
		if (!g->action_watched)
			look(g, t, f);
		lost = blocked || g->actions[f].handler == (uint64_t)(uintptr_t)SIG_IGN;
		if (lost && action_known(g, f) && is_default(t->tid, f))
			action_by(g, t, f, true);
	}
	if (blocked && !t->dead)
		mask_set(t->tid, mask | bit(f));
}

/* --- watching the program change it ---------------------------------------------------- */

/*
 * Between a reset and its mending, rt_sigaction(2) would show the default:
 * the program is told by us. next: to be set, NULL: it only asks. false: the
 * kernel is to do it.
 */
static bool action_told(struct guardian *g, struct thread *t, struct machine_regs *regs,
	const struct signal_action *next)
{
	const struct signal_action before = g->actions[FORCED_TRAP];
	const uint64_t to = regs_call_arg(regs, 2);

	if (!before.handler || regs_call_arg(regs, 3) != action_mask_size() || is_filtered(t->tid))
		return false;
	if (next) {
		g->actions[FORCED_TRAP] = *next;
		g->action_heard[FORCED_TRAP] = true;
		if (!action_by(g, t, FORCED_TRAP, true))
			return false;
	}
	if (to && action_write(g, t, to, &before))
		return false;
	regs_result_set(regs, 0);
	return !regs_set(t->tid, regs);
}

/* The thread stands before rt_sigaction(2): what is going to be the program's disposition? true: it is. */
static bool action_coming(struct guardian *g, struct thread *t, struct machine_regs *regs)
{
	const uint64_t at = regs_call_arg(regs, 1);
	struct signal_action next;
	int f;

	for (f = 0; f < FORCED && (int)regs_call_arg(regs, 0) != signals[f]; f++)
		;
	if (t->tgid != g->pid || f == FORCED)
		return false;
	traps_first(g, t); /* it is to see what it set, not a reset that is about to be mended */
	if (at && action_read(g, t, at, &next))
		return false;
	if (f == FORCED_TRAP && action_told(g, t, regs, at ? &next : NULL))
		return true;
	if (at) {
		g->actions[f] = next;
		g->action_heard[f] = true;
	}
	return false;
}

/* It stands before one of the system calls that are watched. true: it is not to be made any more. */
bool call_coming(struct guardian *g, struct thread *t)
{
	struct machine_regs regs;
	long nr;

	if (regs_get(t->tid, &regs))
		return false;
	nr = regs_call_coming(&regs);
	if (nr == SYS_rt_sigaction)
		return action_coming(g, t, &regs);
	if (nr == SYS_clone)
		selftrace_shows(t, &regs);
	else
		mask_coming(g, t, &regs);
	return false;
}

/* A SIGTRAP that is none of ours goes to the program. */
void action_at_delivery(struct guardian *g, struct thread *t, int *sig)
{
	if (*sig != SIGTRAP)
		return;
	g->own_trapped = true;
	traps_first(g, t); /* one of them may have reset the handler that this one is for */
	if (g->actions[FORCED_TRAP].flags & SA_RESETHAND) /* the kernel's to obey */
		g->actions[FORCED_TRAP].handler = 0;
}

/* What the dispositions are now, by the helper. */
void action_learn(struct guardian *g)
{
	int f;

	for (f = 0; f < FORCED; f++) {
		if (!is_default(eye_of(g), f))
			action_call(
				g, g->helper, g->stack_top - 4096, &(struct action_wish){f, false});
	}
}
