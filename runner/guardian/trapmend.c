/* SPDX-License-Identifier: MIT */
/*
 * A forced SIGTRAP leaves traces in the kernel's own books: where it was
 * blocked or ignored, the kernel unblocks it and resets the program's
 * disposition to the default. Both are put back before the thread goes on.
 *
 * The handler is lost by the reset, so it must be known before: it is read
 * before the first breakpoint stands, and then the C library's system call
 * that changes it is watched, by a breakpoint too. Where no such place is
 * found (or a program makes that call by itself), it is looked at every few
 * milliseconds while hits come.
 *
 * Whether SIGTRAP was blocked cannot be read after the fact. It is known of
 * threads whose mask has not changed since it was last seen whole (attach,
 * birth); for others the neighbours tell, since the C libraries block
 * everything at once. A thread in the program's own handler of SIGTRAP blocks
 * it alone: such a thread stops at its system calls until one of them ends
 * that (rt_sigreturn, rt_sigprocmask). Any other that comes to block SIGTRAP
 * alone is taken for one that does not: it keeps SIGTRAP unblocked until it
 * sets its mask.
 */
#define _GNU_SOURCE
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "../proc.h"
#include "guardian.h"

enum { LOOK_EVERY_MS = 5, NEAR = 24 };

static const uint64_t trap_bit = 1ull << (SIGTRAP - 1);

/* --- blocked? ---------------------------------------------------------------------- */

void mask_learn(struct thread *t, uint64_t mask)
{
	t->mask = mask & ~trap_bit;
	t->blocks_trap = mask & trap_bit;
	t->mask_known = true;
}

static bool is_default(pid_t tid)
{
	char text[PROC_TEXT];

	if (proc_read_of(tid, "status", text, sizeof(text)) <= 0)
		return true;
	return !((proc_number(text, "SigIgn", 16) | proc_number(text, "SigCgt", 16)) & trap_bit);
}

static bool was_blocked(struct thread *t, uint64_t mask)
{
	const uint64_t faults = 1ull << (SIGSEGV - 1) | 1ull << (SIGBUS - 1) |
				1ull << (SIGILL - 1) | 1ull << (SIGFPE - 1) | 1ull << (SIGSYS - 1);

	if (mask & trap_bit) /* it cannot have been forced */
		return false;
	if (t->in_own_trap && is_default(t->tid)) /* not so with SA_NODEFER */
		return true;
	if (!t->mask_known || mask != t->mask)
		mask_learn(t, (mask & faults) == faults ? mask | trap_bit : mask);
	return t->blocks_trap;
}

/* --- the program's disposition ------------------------------------------------------ */

bool action_known(const struct guardian *g)
{
	return g->trap_action.handler != (uint64_t)(uintptr_t)SIG_DFL;
}

/* Read or write it, by a call of a stopped thread; `at`: room in its memory. */
static bool action_call(struct guardian *g, struct thread *t, uint64_t at, bool set)
{
	struct signal_action now;

	if (set)
		return !target_write(g, t->tgid, at, &g->trap_action, sizeof(now)) &&
		       !remote_call(g, t, SYS_rt_sigaction, SIGTRAP, at, 0, 8, 0, 0);
	if (remote_call(g, t, SYS_rt_sigaction, SIGTRAP, 0, at, 8, 0, 0) ||
		target_read(g, t->tgid, at, &now, sizeof(now)) != sizeof(now))
		return false;
	if (now.handler) /* else another thread's trap may have come in between */
		g->trap_action = now;
	return now.handler;
}

/* The same by a thread of the program, which does not notice. */
static bool action_by(struct guardian *g, struct thread *t, bool set)
{
	struct user_regs_struct saved;
	struct signal_action keep;
	bool ok, held = t->held;
	uint64_t mask, at;

	if (regs_get(t->tid, &saved) || mask_get(t->tid, &mask))
		return false;
	at = (saved.rsp - 128 - 256) & ~15ull;
	if (target_read(g, t->tgid, at, &keep, sizeof(keep)) != sizeof(keep))
		return false;
	mask_set(t->tid, ~0ull);
	t->held = true;
	ok = action_call(g, t, at, set);
	t->held = held;
	if (t->dead)
		return false;
	target_write(g, t->tgid, at, &keep, sizeof(keep));
	regs_set(t->tid, &saved);
	mask_set(t->tid, mask);
	return ok;
}

/* Nobody tells of changes: look for them, but not at every hit. */
static void look(struct guardian *g, struct thread *t)
{
	double now = now_ms();

	if (now - g->action_read_ms <= LOOK_EVERY_MS)
		return;
	g->action_read_ms = now;
	if (!is_default(t->tid))
		action_by(g, t, false);
}

/* After a hit of one of our breakpoints: all as it was before. */
void trap_mend(struct guardian *g, struct thread *t)
{
	bool blocked, lost;
	uint64_t mask;

	if (mask_get(t->tid, &mask))
		return;
	blocked = was_blocked(t, mask);
	if (t->tgid == g->pid) { /* a vfork child's dispositions end with its exec */
		if (!g->action_watched)
			look(g, t);
		lost = blocked || g->trap_action.handler == (uint64_t)(uintptr_t)SIG_IGN;
		if (lost && action_known(g) && is_default(t->tid))
			action_by(g, t, true);
	}
	if (blocked && !t->dead)
		mask_set(t->tid, mask | trap_bit);
}

/* --- watching the program change it ---------------------------------------------------- */

/* The thread stands before rt_sigaction(2): what is going to be the program's disposition? */
void action_coming(struct guardian *g, struct thread *t)
{
	struct user_regs_struct regs;
	struct signal_action next;

	if (t->tgid != g->pid || regs_get(t->tid, &regs) || regs.rdi != SIGTRAP)
		return;
	traps_first(g, t); /* it is to see what it set, not a reset that is about to be mended */
	if (!regs.rsi || target_read(g, t->tgid, regs.rsi, &next, sizeof(next)) != sizeof(next))
		return;
	g->trap_action = next;
}

/* A SIGTRAP that is none of ours goes to the program. */
void own_trap_begins(struct guardian *g, struct thread *t)
{
	traps_first(g, t); /* one of them may have reset the handler that this one is for */
	t->in_own_trap = true;
	if (g->trap_action.flags & SA_RESETHAND) /* the kernel's to obey */
		g->trap_action.handler = 0;
}

/* At a system call, made from the handler or ending it: its mask can be read whole. */
void own_trap_at_call(struct thread *t)
{
	uint64_t mask;

	if (!t->in_own_trap || mask_get(t->tid, &mask))
		return;
	t->in_own_trap = mask & trap_bit;
	if (!t->in_own_trap)
		mask_learn(t, mask);
}

static bool begins(const char *text, const char *with)
{
	return !strncmp(text, with, strlen(with));
}

/* The image that holds the C library: by name, or the program itself where there is no loader. */
static const struct tl_ctl_image *c_library(const struct guardian *g)
{
	const struct tl_ctl_image *i,
		*only = NULL, *end = g->ctl->images + ctl_bounded(&g->ctl->nimages, TL_CTL_IMAGES);
	bool loader = false;

	for (i = g->ctl->images; i < end; i++) {
		if (begins(i->name, "libc.so") || begins(i->name, "libc-2.") ||
			begins(i->name, "libc.musl") || begins(i->name, "ld-musl"))
			return i;
		loader |= begins(i->name, "ld-linux") || begins(i->name, "ld-2.");
		if (!only)
			only = i;
	}
	return loader ? NULL : only;
}

/* mov $SYS_rt_sigaction, %eax with a syscall close behind: the place of the latter, NULL: none before end. */
static const uint8_t *next_call(const uint8_t *p, const uint8_t *end)
{
	static const uint8_t load[] = {0xb8, SYS_rt_sigaction, 0, 0, 0}, call[] = {0x0f, 0x05};
	const uint8_t *at;

	while (p < end && (p = memmem(p, (size_t)(end - p), load, sizeof(load)))) {
		p += sizeof(load);
		at = memmem(p, end - p < NEAR ? (size_t)(end - p) : NEAR, call, sizeof(call));
		if (at)
			return at;
	}
	return NULL;
}

/* Where the C library changes dispositions, into the control block. How many places. */
static int find_calls(struct guardian *g)
{
	const struct tl_ctl_image *libc = c_library(g);
	size_t size = libc ? libc->hi - libc->lo : 0;
	uint8_t *code = size ? malloc(size) : NULL;
	const uint8_t *p, *end;
	int n = 0;

	if (!code)
		return 0;
	p = code;
	end = code + target_read(g, g->pid, libc->lo, code, size);
	while (n < TL_CTL_WATCHED && (p = next_call(p, end)))
		g->ctl->sigaction_at[n++] = libc->lo + (uint64_t)(p - code);
	free(code);
	return n;
}

/* What the disposition is now, by the helper. */
void action_learn(struct guardian *g)
{
	if (!g->action_learnt && !is_default(eye_of(g)))
		action_call(g, g->helper, g->stack_top - 4096, false);
	g->action_learnt = true;
}

static void masks_learn(struct guardian *g)
{
	struct thread *t;
	uint64_t mask;

	for (t = g->threads; t; t = t->next) {
		if (!t->mask_known && !t->helper && !t->dead &&
			!proc_status(t->tid, "SigBlk", 16, &mask))
			mask_learn(t, mask);
	}
}

/* Does any probe need breakpoints, and nobody tells of changes yet? */
static bool unwatched(const struct guardian *g)
{
	return g->ctl->ntraps > (g->ctl->dl_state != 0) && !g->action_watched;
}

bool action_wanted(const struct guardian *g)
{
	return g->launched && !g->started && unwatched(g);
}

/* After arming, with the helper held. */
int action_watch(struct guardian *g)
{
	int ret = 0;

	if (!unwatched(g))
		return 0;
	masks_learn(g);
	if (find_calls(g)) {
		g->ctl->count = 0; /* nothing else to arm */
		ret = helper_command(g, TL_CMD_ARM);
		g->action_watched = g->ctl->sigaction_at[0] != 0;
	}
	return ret < 0 ? ret : 0;
}
