/* SPDX-License-Identifier: MIT */
/*
 * A process passes from one guardian to another: the first lets it run into a
 * page of ours, where it sleeps, all its signals blocked, until the second has
 * seized it and puts its registers back. Nothing of that can be seen by its
 * parent, as a stop could. If nobody comes it goes on by itself, untraced.
 * Of several sessions that are told of it one has it first, and lets it go on
 * when the others have joined: what is over soon is seen by all of them.
 */
#define _GNU_SOURCE
#include <fcntl.h>
#include <signal.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/ptrace.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "../../base/proc.h"
#include "../../machine/calls.h"
#include "../guardian.h"
#include "../mend/masks.h"
#include "../session/events.h"
#include "../trace/loop.h"
#include "../trace/remote.h"
#include "../trace/seccomp.h"
#include "../trace/threads.h"
#include "parking.h"

#ifndef PR_SET_PTRACER
#define PR_SET_PTRACER 0x59616d61
#endif

enum { NAP_S = 5, NAP_NS = 100000, STATE_AT = PARKING_CODE, SEIZED_MS = 1000, PATIENCE_MS = 1000 };

static const char magic[8] = "tlparke2";

/* Behind the code, in its page. */
struct parked {
	struct parking_state state;
	struct timespec nap;
	char magic[8];
	uint32_t sessions; /* are told of it */
};

/* No child waits for a runner that is stopped. */
static bool follows(const struct client *c)
{
	return c->follow && !c->leave && !c->told &&
	       !(c->child_ms && now_ms() - c->child_ms > PATIENCE_MS);
}

static uint32_t followers(const struct guardian *g)
{
	const struct client *c;
	uint32_t n = 0;

	for (c = g->clients; c; c = c->next)
		n += follows(c);
	return n;
}

bool children_followed(const struct guardian *g)
{
	return !g->leaving && !g->heir && followers(g);
}

/* In its own memory, where it is to go on by `regs` and `mask`. 0: it has no room. */
static uint64_t make_page(
	struct guardian *g, struct thread *t, const struct machine_regs *regs, uint64_t mask)
{
	struct parked p = {.state = {*regs, mask}, .nap = {NAP_S, 0}, .sessions = followers(g)};
	char bytes[STATE_AT + sizeof(p)];
	long at = remote_call(g, t, SYS_mmap, 0, PAGE, PROT_READ | PROT_WRITE,
		MAP_PRIVATE | MAP_ANONYMOUS, ~0ull, 0);

	if (at < 0 && at > -4096)
		return 0;
	memcpy(p.magic, magic, sizeof(magic));
	memcpy(bytes, machine_parking, STATE_AT);
	memcpy(bytes + STATE_AT, &p, sizeof(p));
	if (!target_write(g, t->tgid, (uint64_t)at, bytes, sizeof(bytes)) &&
		!remote_call(
			g, t, SYS_mprotect, (uint64_t)at, PAGE, PROT_READ | PROT_EXEC, 0, 0, 0))
		return (uint64_t)at;
	remote_call(g, t, SYS_munmap, (uint64_t)at, PAGE, 0, 0, 0, 0);
	return 0;
}

uint64_t parking_enter(
	struct guardian *g, struct thread *t, const struct machine_regs *regs, uint64_t mask)
{
	struct machine_regs there = *regs;
	uint64_t at = make_page(g, t, regs, mask);
	const uint64_t args[CALL_ARGS] = {CLOCK_MONOTONIC, 0,
		at + STATE_AT + offsetof(struct parked, nap), 0, regs_call_arg(regs, 4),
		regs_call_arg(regs, 5)};

	if (!at || t->dead)
		return 0;
	/* Yama: whoever comes is started by our runner */
	remote_call(g, t, SYS_prctl, PR_SET_PTRACER, (uint64_t)getppid(), 0, 0, 0, 0);
	regs_call_make(&there, at, SYS_clock_nanosleep, args);
	return t->dead || regs_set(t->tid, &there) ? 0 : at;
}

void parking_tell(const struct guardian *g, enum message_kind kind, pid_t pid, uint64_t at)
{
	const struct message m = {.kind = kind, .number = (uint32_t)pid, .at = at};
	struct client *c;

	for (c = g->clients; c; c = c->next) {
		if (!follows(c))
			continue;
		c->child_ms = c->child_ms ? c->child_ms : now_ms();
		tell_send(&c->tell, &m);
	}
}

/* From the exec to where it is about to run: a guardian can lend it calls there. */
static bool settle(struct guardian *g, struct thread *t)
{
	thread_hold(t);
	t->interrupted = !ptrace(PTRACE_INTERRUPT, t->tid, 0, 0);
	thread_resume(g, t, 0);
	while (!t->stopped && !t->dead)
		loop_event(g, true);
	return t->stopped && !t->late_stop && t->status >> 16 == PTRACE_EVENT_STOP &&
	       WSTOPSIG(t->status) == SIGTRAP;
}

bool program_hand_over(struct guardian *g, struct thread *t)
{
	struct machine_regs regs;
	uint64_t mask, at = 0;
	pid_t tid = t->tid;

	events_forget(g, t); /* the end of what it was is told first: by the same way as this */
	if (!children_followed(g) || is_filtered(tid) || !settle(g, t)) {
		thread_unhold(t, false);
		return false;
	}
	t->calls_at = syscall_of(g, tid);
	if (t->calls_at && !regs_get(tid, &regs) && regs_native(&regs) && !mask_get(tid, &mask)) {
		mask_set(tid, ~0ull);
		at = parking_enter(g, t, &regs, mask);
		if (!at && !t->dead) {
			regs_set(tid, &regs);
			mask_set(tid, mask);
		}
	}
	thread_unhold(t, false);
	t->calls_at = 0;
	if (!at)
		return false;
	parking_tell(g, MSG_PROGRAM, tid, at);
	ptrace(PTRACE_DETACH, tid, 0, (long)t->late_stop);
	thread_drop(g, t);
	return true;
}

static void await_parker(const struct guardian *g)
{
	const struct timespec nap = {0, NAP_NS};
	double end = now_ms() + PATIENCE_MS;
	uint64_t tracer;

	do {
		tracer = 0;
		proc_status(g->pid, "TracerPid", 10, &tracer);
	} while (tracer && (pid_t)tracer == g->parker && now_ms() < end && !nanosleep(&nap, NULL));
}

/* It waits there, or is about to. */
static uint64_t find_page(const struct guardian *g)
{
	struct proc_sleep where;
	char there[sizeof(magic)], path[64];
	uint64_t page;
	int fd;

	if (!proc_sleeps(g->pid, &where) || where.call != SYS_clock_nanosleep)
		return 0;
	page = where.pc & ~(uint64_t)(PAGE - 1);
	snprintf(path, sizeof(path), "/proc/%d/mem", g->pid);
	fd = open(path, O_RDONLY | O_CLOEXEC);
	if (fd < 0)
		return 0;
	if (pread(fd, there, sizeof(there),
		    (off_t)(page + STATE_AT + offsetof(struct parked, magic))) != sizeof(there) ||
		memcmp(there, magic, sizeof(magic)))
		page = 0;
	close(fd);
	return page;
}

void parking_meet(struct guardian *g)
{
	if (g->parker)
		await_parker(g);
}

/* Whoever is let go of has all signals blocked, and has yet to fall asleep. */
static bool blocks_all(pid_t pid)
{
	const uint64_t never = 1ull << (SIGKILL - 1) | 1ull << (SIGSTOP - 1);
	uint64_t mask = 0;

	proc_status(pid, "SigBlk", 16, &mask);
	return (mask | never) == ~0ull;
}

/* It waits for the guardian of another session: it need not, with us. */
void parking_find(struct guardian *g)
{
	bool runs;

	if (g->parker || g->launched || g->heir)
		return;
	runs = proc_state(g->pid) == 'R';
	g->parking = find_page(g);
	g->may_park = runs && !g->parking && !g->threads->next && blocks_all(g->pid);
}

/* Its registers as they were, the page gone; it stands still. */
static bool leave_page(struct guardian *g, struct thread *t)
{
	struct parked p;

	if (target_read(g, g->pid, g->parking + STATE_AT, &p, sizeof(p)) != sizeof(p) ||
		memcmp(p.magic, magic, sizeof(magic)))
		return false;
	mask_set(t->tid, ~0ull);
	remote_call(g, t, SYS_prctl, PR_SET_PTRACER, 0, 0, 0, 0, 0);
	remote_call(g, t, SYS_munmap, g->parking, PAGE, 0, 0, 0, 0);
	regs_call_forget(&p.state.regs); /* it is behind the call that has made it */
	if (t->dead || regs_set(t->tid, &p.state.regs) || mask_set(t->tid, p.state.mask))
		return false;
	mask_learn(t, p.state.mask);
	g->expected = p.sessions + !g->parker; /* we have not been told of it */
	return true;
}

struct thread *parking_leave(struct guardian *g)
{
	struct thread *t = g->parking || g->may_park ? thread_find(g, g->pid) : NULL;
	struct machine_regs regs;

	if (!t || !thread_interrupt(g, t, SEIZED_MS))
		return NULL;
	if (!regs_get(t->tid, &regs)) {
		if (g->may_park)
			g->parking = regs_pc(&regs) & ~(uint64_t)(PAGE - 1);
		if (regs_pc(&regs) - g->parking < PAGE && leave_page(g, t)) {
			t->cloning = false;
			return t;
		}
	}
	if (thread_find(g, g->pid) == t)
		thread_release(g, t);
	return NULL;
}
