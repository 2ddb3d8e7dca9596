/* SPDX-License-Identifier: MIT */
/*
 * A program started by us. The agent goes in at the exec stop, before its
 * first instruction. From there to the program's entry point its system calls
 * are watched, and probes in an object are armed as soon as it is mapped.
 */
#define _GNU_SOURCE
#include <fcntl.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/ptrace.h>
#include <unistd.h>

#include "../../base/proc.h"
#include "../../machine/calls.h"
#include "../guardian.h"
#include "../mend/watch.h"
#include "../session/arm.h"
#include "../session/clients.h"
#include "../session/events.h"
#include "../session/loader.h"
#include "../session/resolve.h"
#include "../session/watchpoints.h"
#include "../trace/concern.h"
#include "../trace/loop.h"
#include "../trace/remote.h"
#include "../trace/say.h"
#include "../trace/seize.h"
#include "../trace/threads.h"
#include "launch.h"
#include "parking.h"
#include "sanitizers.h"
#include "traceme.h"

#ifndef PTRACE_GET_SYSCALL_INFO
#define PTRACE_GET_SYSCALL_INFO 0x420e
#endif
enum { INFO_EXIT = 2 };

/* A breakpoint of the processor: the text stays as it is. addr 0: off. */
static int entry_break(struct guardian *g, const struct thread *t, uint64_t addr)
{
	g->entry = addr;
	return entry_set(g, t);
}

/* May t stop here for the main loop? Not while somebody else waits for it. */
static bool main_may_hold(const struct guardian *g, const struct thread *t)
{
	return g->watching && !t->held;
}

static bool is_mmap(long call)
{
	return call == SYS_mmap || call == SYS_mmap2;
}

/* true: the thread stays stopped, the main loop will look at it. */
static bool has_mapped(struct guardian *g, struct thread *t)
{
	struct machine_regs regs;
	uint64_t info[16];

	bool maps;

	if (!clients_wait(g) || !main_may_hold(g, t)) /* missed here: at the entry point, then */
		return false;
	if (ptrace(PTRACE_GET_SYSCALL_INFO, t->tid, sizeof(info), info) > 0 &&
		(info[0] & 0xff) != INFO_EXIT)
		return false;
	if (regs_get(t->tid, &regs) || regs_result(&regs) < 0)
		return false;
	maps = is_mmap(regs_call(&regs)) && !(regs_call_arg(&regs, 3) & MAP_ANONYMOUS);
	if (!maps && !(clients_deaf(g) && regs_call(&regs) == SYS_mprotect))
		return false;
	g->mapping = maps;
	thread_hold(t);
	g->at_map = t;
	return true;
}

enum verdict launch_at_call(struct guardian *g, struct thread *t)
{
	return t->follow && t->tgid == g->pid && has_mapped(g, t) ? STAYS : PASS;
}

/* The main program's first instruction is reached. */
bool launch_entry(struct guardian *g, struct thread *t)
{
	struct machine_regs regs;

	if (!g->entry || regs_get(t->tid, &regs) || regs_pc(&regs) != g->entry)
		return false;
	entry_break(g, t, 0);
	if (main_may_hold(g, t)) {
		thread_hold(t);
		g->at_entry = t;
	} else {
		g->dl_missed = true;
	}
	return true;
}

/* The session ends before the program is there: nobody would serve the breakpoint any more. */
void launch_leave(struct guardian *g)
{
	struct machine_regs regs;
	struct thread *t;

	while (g->entry && !target_ended(g) && (t = thread_find(g, g->pid))) {
		bool there = true; /* the hit may be on its way: launch_entry() takes it */

		if (thread_interrupt(g, t, 1000)) {
			there = regs_get(t->tid, &regs) || regs_pc(&regs) == g->entry;
			if (!there)
				entry_break(g, t, 0);
			thread_release(g, t);
		}
		if (there)
			loop_for(g, 2);
	}
}

/* Our program is over; the one that it has become may be for another guardian. true: it is. */
bool program_over(struct guardian *g, bool follow)
{
	struct thread *t = g->at_end;
	pid_t tid;

	g->at_end = NULL;
	if (!t)
		return false;
	thread_unhold(t, false);
	if (follow && !t->dead && children_followed(g) && images_match(g, g->clients)) {
		if (program_hand_over(g, t))
			return true;
		g->children++;
	}
	tid = t->tid;
	thread_drop(g, t);
	ptrace(PTRACE_DETACH, tid, 0, 0);
	return false;
}

/* The process runs a new program from here. */
void launch_exec(struct guardian *g, struct thread *t)
{
	if (!g->launched || g->armed) {
		g->execed = true;
		thread_hold(t);
		g->at_end = t;
		if (g->leaving)
			program_over(g, false);
		return;
	}
	thread_hold(t);
	t->follow = false;
	g->at_exec = t;
}

static struct thread *next_stranger(struct guardian *g, pid_t keep, pid_t behind)
{
	struct thread *t = g->threads, *best = NULL;

	for (; t; t = t->next) {
		if (t->tgid != keep && !t->dead && !t->newborn && t->tid > behind &&
			(!best || t->tid < best->tid))
			best = t;
	}
	return best;
}

/* Let go of everything that is not of the process `keep`. Who is just being born goes at its first stop. */
static void let_go(struct guardian *g, pid_t keep)
{
	struct thread *t;
	pid_t tid = 0;

	while ((t = next_stranger(g, keep, tid))) {
		tid = t->tid;
		if (!t->stopped && !thread_interrupt(g, t, 1000))
			continue;
		ptrace(PTRACE_DETACH, tid, 0, 0);
		thread_drop(g, t);
	}
}

static void open_memory(struct guardian *g)
{
	char path[64];

	if (g->mem >= 0)
		close(g->mem);
	snprintf(path, sizeof(path), "/proc/%d/mem", g->pid);
	g->mem = open(path, O_RDWR | O_CLOEXEC);
}

/*
 * A descendant of CMD's first process has become another program. Is it the
 * one that the script is for? Then another guardian takes it; where no child is
 * followed it is the target from here, and the shell and what else it starts
 * run untraced.
 */
bool launch_adopt(struct guardian *g, struct thread *t)
{
	pid_t before = g->pid;

	g->pid = g->eye = t->tgid;
	if (!images_match(g, g->clients)) {
		g->pid = g->eye = before;
		return false;
	}
	g->pid = g->eye = before;
	if (program_hand_over(g, t)) /* and we look for others */
		return true;
	g->pid = g->eye = t->tgid;
	thread_hold(t);
	let_go(g, t->tgid);
	thread_unhold(t, false);
	g->ctl->target = (uint32_t)g->pid;
	launch_exec(g, t);
	return true;
}

/* From the exec stop to a stop in user mode, before the first instruction. */
static bool settle(struct guardian *g, struct thread *t)
{
	if (ptrace(PTRACE_INTERRUPT, t->tid, 0, 0))
		return false;
	t->interrupted = true;
	thread_resume(g, t, 0);
	while (!t->stopped && !t->dead && !g->gone)
		loop_event(g, true);
	return t->stopped;
}

/* The loader has mapped something; its constructors have not run yet, and its caller waits. */
static void dlopen_step(struct guardian *g)
{
	struct thread *t = g->at_dlopen;

	g->at_dlopen = NULL;
	g->ctl->images_stale |= g->dl_missed; /* one may have gone and come back to where it was */
	g->dl_missed = false;
	g->main_held = t;
	if (session_more(g, t, true) && !g->gone)
		note_all(g, "probes in an object that was just loaded could not be armed: %s",
			g->error);
	g->main_held = NULL;
	g->started |= !g->entry; /* where that was the news */
	if (t)
		thread_release(g, t);
}

/* Somebody waits for us, or the loader is at work: a thread borrowed now would pass what we wait for. */
bool launch_under_way(const struct guardian *g)
{
	return g->entry || launch_step_due(g);
}

bool launch_step_due(const struct guardian *g)
{
	return g->at_exec || g->at_map || g->at_entry || g->at_dlopen || g->dl_missed;
}

/* More can be done where the program begins: the loader has mapped its libraries, and filled in what leads there. */
static bool entry_matters(struct guardian *g)
{
	return clients_watch_loader(g) || action_wanted(g) || sanitizers_wanted(g) ||
	       g->ctl->arming.at_wanting;
}

/* It is the one, and stands at its exec. */
static int enter_program(struct guardian *g, struct thread *t)
{
	int ret = target_check_machine(g);

	if (ret || remote_find_syscall(g))
		return ret;
	g->audited = loader_audited(g);
	g->main_held = t;
	ret = session_arm(g, g->clients, t, false);
	g->main_held = NULL;
	if (!ret)
		ret = events_begin(g, g->clients);
	if (!ret && entry_matters(g)) {
		t->follow = clients_wait(g);
		if (entry_break(g, t, program_entry(g)))
			entry_break(g, t, 0);
	}
	return ret;
}

/* Only where instructions of the script's files are can its system calls be seen: not in a static program. */
static void warn_of_unknown(struct guardian *g)
{
	const struct client *c = g->clients;
	const struct tl_tap_probe *p = c->mod->probes, *end = p + c->mod->nprobes;
	char text[160], name[32];

	while (p < end && p->kind != TL_TAP_SITE)
		p++;
	if (!g->fresh || !(c->mod->header->flags & TL_TAP_HIERARCHY) || c->narmed || p == end)
		return;
	proc_name(g->pid, name, sizeof(name));
	snprintf(text, sizeof(text),
		"nothing is seen of child process %d, %s: it has none of the script's files "
		"mapped; "
		"next: name it in the script, process(\"PATH\")",
		g->pid, name);
	tell(&c->tell, MSG_UNSEEN, 0, text);
}

int launch_step(struct guardian *g)
{
	struct thread *t;
	int ret = 0;

	if ((t = g->at_exec)) {
		g->at_exec = NULL;
		open_memory(g); /* it is another one since the exec */
		if (settle(g, t) && images_match(g, g->clients))
			ret = enter_program(g, t);
		if (launch_searches(g))
			traceme_program(t);
		thread_release(g, t);
	} else if ((t = g->at_map)) {
		g->at_map = NULL;
		g->main_held = t;
		ret = session_more(g, t, false);
		g->main_held = NULL;
		t->follow = clients_wait(g);
		if (!entry_matters(g)) {
			if (g->entry)
				entry_break(g, t, 0);
		}
		thread_release(g, t);
	} else if ((t = g->at_entry)) {
		g->at_entry = NULL;
		g->main_held = t;
		ret = session_more(g, t, true);
		g->main_held = NULL;
		g->started = true;
		t->follow = false;
		warn_of_unknown(g);
		thread_release(g, t);
	} else if (g->at_dlopen || g->dl_missed) {
		dlopen_step(g);
	}
	return ret;
}
