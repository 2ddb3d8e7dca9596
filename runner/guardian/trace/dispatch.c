/* SPDX-License-Identifier: MIT */
/*
 * Threads whose system calls the kernel turns into SIGSYS, but for those that code of one range makes
 * (PR_SET_SYSCALL_USER_DISPATCH: Wine, sandboxes). Ours in such a thread are made with that switched off. The copy of a
 * call in a detour is not in the range where its instruction is: a call that was free to go there goes here, too; others
 * the program gets as ever (faults.c). Before Linux 6.4 nobody can see this from outside.
 */
#define _GNU_SOURCE
#include <signal.h>
#include <sys/ptrace.h>

#include "../guardian.h"
#include "concern.h"
#include "dispatch.h"
#include "ours.h"
#include "traps.h"

#ifndef PTRACE_SET_SYSCALL_USER_DISPATCH_CONFIG
#define PTRACE_SET_SYSCALL_USER_DISPATCH_CONFIG 0x4210
#define PTRACE_GET_SYSCALL_USER_DISPATCH_CONFIG 0x4211
#endif

enum {
	MODE_OFF = 0,
	MODE_INCLUSIVE = 2,
	BY_DISPATCH = 2 /* si_code */
};

static bool config_set(const struct thread *t, const struct dispatch *d)
{
	return !ptrace(PTRACE_SET_SYSCALL_USER_DISPATCH_CONFIG, t->tid, sizeof(*d), d);
}

/* The kernel tells a range of those that are turned into signals as its complement, which it does not take back. */
static bool is_complement(const struct dispatch *d)
{
	return d->len && d->offset + d->len <= d->offset;
}

static struct dispatch as_taken(struct dispatch d)
{
	if (is_complement(&d)) {
		d.mode = MODE_INCLUSIVE;
		d.offset += d.len;
		d.len = -d.len;
	}
	return d;
}

static bool config_get(const struct thread *t, struct dispatch *d)
{
	return !ptrace(PTRACE_GET_SYSCALL_USER_DISPATCH_CONFIG, t->tid, sizeof(*d), d) &&
	       d->mode != MODE_OFF;
}

bool dispatch_off(struct thread *t)
{
	const struct dispatch off = {.mode = MODE_OFF};
	struct dispatch now, back;

	if (t->dispatch.mode != MODE_OFF || !config_get(t, &now))
		return true;
	back = as_taken(now);
	if (!config_set(t, &back) || !config_set(t, &off)) /* it could not be switched on again */
		return false;
	t->dispatch = back;
	return true;
}

void dispatch_on(struct thread *t)
{
	if (t->dispatch.mode != MODE_OFF && !t->dead)
		config_set(t, &t->dispatch);
	t->dispatch.mode = MODE_OFF;
}

/* The kernel looks at where a call comes back to. */
static bool is_free(const struct dispatch *d, uint64_t behind)
{
	return behind - d->offset < d->len;
}

bool dispatch_wants_syscalls(const struct guardian *g, const struct thread *t)
{
	(void)g;
	return t->dispatch.mode != MODE_OFF;
}

/* The call is under way, or begins anew. */
enum verdict dispatch_at_stop(struct guardian *g, struct thread *t)
{
	(void)g;
	if (!t->calling)
		dispatch_on(t);
	return PASS;
}

/* A SIGSYS: of a call that goes on? */
enum verdict dispatch_at_signal(struct guardian *g, struct thread *t, int sig)
{
	struct machine_regs regs;
	struct dispatch d;
	uint64_t text;

	if (sig != SIGSYS || !g->ctl || signal_code(t) != BY_DISPATCH || regs_get(t->tid, &regs) ||
		!in_our_memory(g, regs_pc(&regs)) || !config_get(t, &d))
		return PASS;
	text = text_before(g, regs_pc(&regs));
	if (text == regs_pc(&regs) || !is_free(&d, text + machine.syscall.size) || !dispatch_off(t))
		return PASS;
	regs_pc_set(&regs, regs_pc(&regs) - machine.syscall.size);
	return regs_set(t->tid, &regs) ? PASS : GOES;
}
