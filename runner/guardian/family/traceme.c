/* SPDX-License-Identifier: MIT */
/*
 * A target that is a debugger itself. Its fork children are nobody's when they
 * ask for it as their tracer, but a vfork child shares the memory and is ours
 * until it has become another program: the kernel would refuse it. So it is
 * let go of in that very call, and from there until its parent goes on nothing
 * of ours may need us: breakpoints are out of the text, and handlers, which
 * ask by a breakpoint, are silent. While text changes, or another such child
 * is on its way, it waits in that call.
 *
 * While the program that CMD is to start is searched for, all its processes
 * are ours, and nothing of ours is in them: who is to be traced by one of them
 * is let go of in the call that asks for it.
 */
#define _GNU_SOURCE
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/ptrace.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "../../base/proc.h"
#include "../../machine/calls.h"
#include "../guardian.h"
#include "../leave/journal.h"
#include "../trace/births.h"
#include "../trace/concern.h"
#include "../trace/loop.h"
#include "../trace/remote.h"
#include "../trace/threads.h"
#include "launch.h"
#include "selftrace.h"
#include "traceme.h"

enum { ON_ITS_WAY_MS = 1000 }; /* until it has become another program */

/* Does it look as if it ever made that call? Libraries all know the word, so the program alone is asked. */
static bool names_ptrace(pid_t pid)
{
	static const char word[] = "ptrace";
	struct stat st;
	bool found = false;
	char path[64];
	void *text;
	int fd;

	snprintf(path, sizeof(path), "/proc/%d/exe", pid);
	fd = open(path, O_RDONLY | O_CLOEXEC);
	if (fd < 0 || fstat(fd, &st) || !st.st_size)
		goto out;
	text = mmap(NULL, (size_t)st.st_size, PROT_READ, MAP_PRIVATE, fd, 0);
	if (text == MAP_FAILED)
		goto out;
	found = memmem(text, (size_t)st.st_size, word, sizeof(word) - 1);
	munmap(text, (size_t)st.st_size);
out:
	if (fd >= 0)
		close(fd);
	return found;
}

bool is_debugger(struct guardian *g)
{
	if (!g->debugger_known)
		g->debugger = names_ptrace(eye_of(g));
	g->debugger_known = true;
	return g->debugger;
}

/* Searching: it has become another program. */
void traceme_program(struct thread *t)
{
	t->follow = names_ptrace(t->tid);
}

/* Searching: a child or thread of a debugger is followed like that. */
void traceme_born(struct guardian *g, struct thread *t)
{
	uint64_t from = (uint64_t)t->tgid;
	const struct thread *o;

	if (t->tid == t->tgid)
		proc_status(t->tid, "PPid", 10, &from);
	o = thread_find(g, (pid_t)from);
	t->follow = o && o->follow;
}

void gate_set(struct guardian *g, uint32_t open)
{
	uint64_t at = 0;

	if (target_read(g, g->pid, g->ctl->gate, &at, sizeof(at)) == sizeof(at) && at)
		target_write(g, g->pid, at, &open, sizeof(open));
}

/* At the entry of ptrace()? */
static bool wants(const struct thread *t, struct machine_regs *regs)
{
	return !regs_get(t->tid, regs) && regs_call(regs) == SYS_ptrace &&
	       call_begins(t->tid, regs);
}

static bool is_seize(const struct machine_regs *regs)
{
	return regs_call_arg(regs, 0) == PTRACE_ATTACH || regs_call_arg(regs, 0) == PTRACE_SEIZE;
}

/* A stopped thread that is to be somebody else's. */
static void part(struct guardian *g, struct thread *t)
{
	bool signal = !(t->status >> 16) && WSTOPSIG(t->status) != (SIGTRAP | 0x80);
	pid_t tid = t->tid;

	ptrace(PTRACE_DETACH, tid, 0, (long)(signal ? WSTOPSIG(t->status) : 0));
	thread_drop(g, t);
	child_settled(g, tid);
}

static bool may_part(struct guardian *g, struct thread *t)
{
	return t->parts && !t->held && (!g->own_tracer || selftrace_may_part(g, t));
}

/* t is about to trace another one, and waits until that is nobody's. */
static bool seizes(struct guardian *g, struct thread *t, pid_t tid)
{
	struct thread *o = thread_find(g, tid);

	if (!o || (o->tgid == g->pid && !g->own_tracer) || o->dead || o->held)
		return false;
	o->parts = true;
	if (o->stopped && may_part(g, o)) {
		part(g, o);
		return false;
	}
	if (!o->stopped && ptrace(PTRACE_INTERRUPT, tid, 0, 0)) {
		o->parts = false;
		return false;
	}
	t->awaited = tid;
	return true;
}

/* Searching. true: t is ours no more, or waits. */
static bool let_go_sought(struct guardian *g, struct thread *t)
{
	struct machine_regs regs;

	if (!wants(t, &regs))
		return false;
	if (is_seize(&regs))
		return seizes(g, t, (pid_t)regs_call_arg(&regs, 1));
	if (regs_call_arg(&regs, 0) != PTRACE_TRACEME || t->tgid == g->pid)
		return false;
	if (t->held) /* launch.c waits for it, and lets go of it */
		return true;
	part(g, t);
	return true;
}

static bool let_go(struct guardian *g, struct thread *t)
{
	pid_t tid = t->tid;

	gate_set(g, 0);
	g->silences++;
	g->let_go = tid;
	if (breakpoints_out(g)) {
		traceme_over(g, tid);
		return false;
	}
	g->children++;
	thread_drop(g, t);
	ptrace(PTRACE_DETACH, tid, 0, 0);
	return true;
}

/* A child is to be its parent's to trace. */
static bool asks(struct guardian *g, struct thread *t)
{
	if (!t->vforked) { /* its parent's word may be on the way */
		thread_hold(t);
		loop_for(g, 1);
		thread_unhold(t, false);
	}
	if (t->dead) {
		thread_drop(g, t);
		return true;
	}
	t->applies = t->vforked;
	return t->applies;
}

/* A process of the program's is to trace a thread of that. */
static bool traces(struct guardian *g, struct thread *t, pid_t tid)
{
	const struct thread *o = thread_find(g, tid);

	if (g->own_tracer == t->tid)
		return seizes(g, t, tid);
	t->applies = o && o->tgid == g->pid;
	return t->applies;
}

/* At a system call of t. true: it is ours no more, or does not go on yet. */
static bool comes(struct guardian *g, struct thread *t)
{
	struct machine_regs regs;

	if (launch_searches(g))
		return t->follow && let_go_sought(g, t);
	if (t->tgid == g->pid || !t->follow || !wants(t, &regs))
		return false;
	if (regs_call_arg(&regs, 0) == PTRACE_TRACEME)
		return asks(g, t);
	return is_seize(&regs) && traces(g, t, (pid_t)regs_call_arg(&regs, 1));
}

enum verdict traceme_at_call(struct guardian *g, struct thread *t)
{
	return comes(g, t) ? STAYS : PASS;
}

bool traceme_keeps(const struct guardian *g, const struct thread *t)
{
	(void)g;
	return t->applies; /* traceme_serve() lets it go */
}

enum verdict traceme_at_stop(struct guardian *g, struct thread *t)
{
	if (!may_part(g, t))
		return PASS;
	part(g, t);
	return STAYS;
}

/* false: its call is made. */
static bool serve(struct guardian *g, struct thread *t)
{
	struct machine_regs regs;

	if (!wants(t, &regs) || !is_seize(&regs))
		return let_go(g, t);
	return selftrace_begin(g, t) && seizes(g, t, (pid_t)regs_call_arg(&regs, 1));
}

static struct thread *next_applicant(const struct guardian *g)
{
	struct thread *t;

	for (t = g->threads; t && !(t->applies && t->stopped && !t->held); t = t->next)
		;
	return t;
}

void traceme_serve(struct guardian *g)
{
	struct thread *t;

	while (!g->let_go && (t = next_applicant(g))) {
		t->applies = false;
		if (!serve(g, t))
			thread_resume(g, t, 0);
	}
}

/* It has become another program or ended. 0: so it is to be taken. */
void traceme_over(struct guardian *g, pid_t child)
{
	if (!g->let_go || (child && child != g->let_go))
		return;
	g->let_go = 0;
	breakpoints_in(g);
	gate_set(g, 1);
}

void traceme_at_vfork_done(struct guardian *g, struct thread *parent)
{
	traceme_over(g, thread_event_child(parent));
}

static bool on_its_way(const struct guardian *g)
{
	return g->let_go;
}

void traceme_settle(struct guardian *g)
{
	while (g->own_tracer && !target_ended(g))
		loop_for(g, 1);
	loop_while(g, on_its_way, ON_ITS_WAY_MS);
	traceme_over(g, 0);
}
