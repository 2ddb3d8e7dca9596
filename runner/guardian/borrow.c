/* SPDX-License-Identifier: MIT */
/*
 * Borrowing a thread of the program for one system call, so that it notices
 * nothing: the helper thread that it clones does everything else.
 *
 * A stop ends whatever call the thread slept in. Most calls the kernel itself
 * would start again; we do so by hand, since our own call came in between.
 * Some (epoll_wait, semop, sigtimedwait ...) would tell the program EINTR:
 * they are issued again too, with the time that is left.
 */
#define _GNU_SOURCE
#include <linux/membarrier.h>
#include <dirent.h>
#include <errno.h>
#include <linux/sched.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ptrace.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <time.h>
#include <unistd.h>

#include "guardian.h"

#ifndef PTRACE_PEEKSIGINFO
#define PTRACE_PEEKSIGINFO 0x4209
#endif

enum { /* what the kernel leaves in rax until it has decided about a restart */
	RESTART_SYS = -512,
	RESTART_NOINTR = -513,
	RESTART_NOHAND = -514,
	RESTART_BLOCK = -516,
};
enum { ARG_NONE, ARG_DX, ARG_R10, ARG_R8 };
enum { TIME_NONE, TIME_MS, TIME_SPEC };
enum { HELPER_SP = 0x4c00 }; /* no real thread has its stack there */

/* Calls that end with EINTR on any stop, and where their time-out stands. */
static const struct fragile {
	short nr;
	uint8_t arg, kind;
} fragile[] = {
	{SYS_epoll_wait, ARG_R10, TIME_MS},
	{SYS_epoll_pwait, ARG_R10, TIME_MS},
	{441 /* epoll_pwait2 */, ARG_R10, TIME_SPEC},
	{SYS_semop, ARG_NONE, TIME_NONE},
	{SYS_semtimedop, ARG_R10, TIME_SPEC},
	{SYS_rt_sigtimedwait, ARG_DX, TIME_SPEC},
	{SYS_io_getevents, ARG_R8, TIME_SPEC},
	{426 /* io_uring_enter */, ARG_NONE, TIME_NONE},
	{SYS_accept, ARG_NONE, TIME_NONE},
	{SYS_accept4, ARG_NONE, TIME_NONE},
	{SYS_recvfrom, ARG_NONE, TIME_NONE},
	{SYS_recvmsg, ARG_NONE, TIME_NONE},
	{SYS_recvmmsg, ARG_NONE, TIME_NONE},
	{SYS_sendto, ARG_NONE, TIME_NONE},
	{SYS_sendmsg, ARG_NONE, TIME_NONE},
	{SYS_read, ARG_NONE, TIME_NONE},
	{SYS_readv, ARG_NONE, TIME_NONE},
	{SYS_msgrcv, ARG_NONE, TIME_NONE},
	{SYS_msgsnd, ARG_NONE, TIME_NONE},
	{SYS_futex, ARG_NONE, TIME_NONE},
	{449 /* futex_waitv */, ARG_NONE, TIME_NONE},
};

static const struct fragile *fragile_find(long nr)
{
	size_t i;

	for (i = 0; i < sizeof(fragile) / sizeof(*fragile); i++) {
		if (fragile[i].nr == nr)
			return &fragile[i];
	}
	return NULL;
}

bool call_is_fragile(long nr)
{
	return fragile_find(nr) != NULL;
}

static unsigned long long *arg_of(struct user_regs_struct *regs, int arg)
{
	return arg == ARG_DX ? &regs->rdx : arg == ARG_R10 ? &regs->r10 : &regs->r8;
}

/* --- how long has it slept? -------------------------------------------------- */

static uint64_t clock_ns(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_MONOTONIC, &ts);
	return (uint64_t)ts.tv_sec * 1000000000u + (uint64_t)ts.tv_nsec;
}

/* What the scheduler tells of a thread. */
struct sched {
	uint64_t
		exec_start; /* when it last was on a processor, ns on that one's clock; 0: not told */
	uint64_t switches; /* how often it has gone to sleep */
};

static struct sched sched_of(const char *path)
{
	unsigned long long whole, ns;
	struct sched s = {0, 0};
	char line[256];
	FILE *f = fopen(path, "re");

	while (f && fgets(line, sizeof(line), f)) {
		if (sscanf(line, "se.exec_start : %llu.%llu", &whole, &ns) == 2)
			s.exec_start = whole * 1000000u + ns;
		else if (sscanf(line, "nr_voluntary_switches : %llu", &whole) == 1)
			s.switches = whole;
	}
	if (f)
		fclose(f);
	return s;
}

static struct sched sched_of_thread(const struct thread *t)
{
	char path[64];

	snprintf(path, sizeof(path), "/proc/%d/task/%d/sched", t->tgid, t->tid);
	return sched_of(path);
}

/* The processor it last ran on: clocks of two need not agree. */
static int last_cpu(pid_t tid)
{
	char path[64], buf[1024], *at;
	int cpu = -1, field;
	FILE *f;

	snprintf(path, sizeof(path), "/proc/%d/stat", tid);
	f = fopen(path, "re");
	if (!f)
		return -1;
	if (fgets(buf, sizeof(buf), f) && (at = strrchr(buf, ')'))) {
		for (field = 2; field < 39 && at; field++)
			at = strchr(at + 1, ' ');
		cpu = at ? atoi(at) : -1;
	}
	fclose(f);
	return cpu;
}

/* The system call it sleeps in, or -1. */
static long sleeps_in(struct guardian *g, struct thread *t)
{
	char path[64];
	long nr = -1;
	FILE *f;

	snprintf(path, sizeof(path), "/proc/%d/task/%d/syscall", g->pid, t->tid);
	f = fopen(path, "re");
	if (!f)
		return -1;
	if (fscanf(f, "%ld", &nr) != 1)
		nr = -1;
	fclose(f);
	return nr;
}

/* sleep_clock() for a thread that is about to be stopped; only where it matters. */
uint64_t sleep_so_far(struct guardian *g, struct thread *t)
{
	const struct fragile *f;

	t->switches = sched_of_thread(t).switches;
	f = fragile_find(sleeps_in(g, t));
	return f && f->arg != ARG_NONE ? sleep_clock(g, t) : 0;
}

/*
 * The same once it is stopped. The stop is one sleep; where there were more, its call may have ended meanwhile and
 * another may have begun: that one has slept for we do not know how long.
 */
uint64_t sleep_confirmed(struct thread *t, uint64_t slept)
{
	struct user_regs_struct regs;

	if (!slept || regs_get(t->tid, &regs)) /* which waits until it is off its processor */
		return 0;
	return sched_of_thread(t).switches == t->switches + 1 ? slept : 0;
}

/* ns since it fell asleep; 0: cannot be known. Read before it is woken. */
uint64_t sleep_clock(struct guardian *g, struct thread *t)
{
	cpu_set_t old, one;
	uint64_t theirs = sched_of_thread(t).exec_start, ours;
	int cpu = last_cpu(t->tid);

	(void)g;
	if (!theirs || cpu < 0 || sched_getaffinity(0, sizeof(old), &old))
		return 0;
	CPU_ZERO(&one);
	CPU_SET(cpu, &one);
	if (sched_setaffinity(0, sizeof(one), &one))
		return 0;
	sched_yield(); /* brings our own figure up to date */
	ours = sched_of("/proc/thread-self/sched").exec_start;
	sched_setaffinity(0, sizeof(old), &old);
	return ours > theirs ? ours - theirs : 0;
}

/* --- starting a call again --------------------------------------------------- */

/* Its time-out in ns; false: it has none. */
static bool time_limit(struct guardian *g, const struct fragile *f, uint64_t value, uint64_t *limit)
{
	struct timespec ts;

	if (f->kind == TIME_NONE)
		return false;
	if (f->kind == TIME_MS) {
		*limit = (uint64_t)(int)value * 1000000u;
		return (int)value > 0;
	}
	if (!value || target_read(g, g->pid, value, &ts, sizeof(ts)) != sizeof(ts) || ts.tv_sec < 0)
		return false;
	*limit = (uint64_t)ts.tv_sec * 1000000000u + (uint64_t)ts.tv_nsec;
	return *limit > 0;
}

/* Below the red zone, and below what a signal that comes before the call is issued would use. */
static uint64_t spare_room(struct guardian *g, const struct user_regs_struct *regs)
{
	uint64_t at = (regs->rsp - 128 - 14 * 1024) & ~15ull;
	char probe;

	return target_read(g, g->pid, at, &probe, 1) == 1 ? at : (regs->rsp - 512) & ~15ull;
}

static bool set_time(
	struct guardian *g, const struct fragile *f, struct user_regs_struct *regs, uint64_t ns)
{
	struct timespec ts = {(time_t)(ns / 1000000000u), (long)(ns % 1000000000u)};
	uint64_t at;

	if (f->kind == TIME_MS) {
		*arg_of(regs, f->arg) = (ns + 999999u) / 1000000u;
		return true;
	}
	at = spare_room(g, regs);
	if (target_write(g, g->pid, at, &ts, sizeof(ts)))
		return false;
	*arg_of(regs, f->arg) = at;
	return true;
}

static void less_time(struct guardian *g, struct thread *t, const struct fragile *f,
	struct user_regs_struct *regs, uint64_t slept)
{
	uint64_t limit, now = clock_ns(), left;
	unsigned long long *value = arg_of(regs, f->arg);

	if (t->again.on) { /* issued again before: its end is known */
		left = t->again.deadline_ns > now ? t->again.deadline_ns - now : 0;
	} else {
		if (!time_limit(g, f, *value, &limit))
			return;
		left = slept < limit ? limit - slept : 0;
		t->again.value = *value;
		t->again.arg = f->arg;
		t->again.deadline_ns = now + left;
	}
	if (set_time(g, f, regs, left)) {
		t->again.on = true;
		t->again.inside = false;
	}
}

/* Have the interrupted call start again when the thread goes on. No signal waits for it. */
void call_restart(
	struct guardian *g, struct thread *t, struct user_regs_struct *regs, uint64_t slept)
{
	const struct fragile *f;
	long nr = (long)regs->orig_rax;

	if (nr < 0)
		return;
	regs->orig_rax = (uint64_t)-1;
	switch ((long)regs->rax) {
	case RESTART_SYS:
	case RESTART_NOINTR:
	case RESTART_NOHAND:
		regs->rax = (uint64_t)nr;
		regs->rip -= 2;
		return;
	case RESTART_BLOCK:
		regs->rax = SYS_restart_syscall;
		regs->rip -= 2;
		return;
	case -EINTR:
		f = fragile_find(nr == SYS_restart_syscall ? -1 : nr);
		if (!f)
			return;
		regs->rax = (uint64_t)nr;
		regs->rip -= 2;
		if (f->arg != ARG_NONE)
			less_time(g, t, f, regs, slept);
		return;
	default:
		if (t->again.on) { /* it has ended just now */
			*arg_of(regs, t->again.arg) = t->again.value;
			t->again.on = false;
		}
	}
}

static bool cut_short(long result)
{
	return result == -EINTR || (result <= RESTART_SYS && result >= RESTART_BLOCK);
}

/*
 * A system call stop of a thread whose call was issued again: at the call's end
 * its argument is put back. A stop that was asked for ends the call, and this
 * stop is then the one that was asked for: no other follows.
 */
bool again_stop(struct guardian *g, struct thread *t)
{
	struct user_regs_struct regs;

	if (!t->again.on)
		return false;
	t->again.inside = !t->again.inside;
	if (t->again.inside || regs_get(t->tid, &regs)) {
		thread_resume(g, t, 0);
		return true;
	}
	if (!cut_short((long)regs.rax)) {
		*arg_of(&regs, t->again.arg) = t->again.value;
		regs_set(t->tid, &regs);
		t->again.on = false;
	} else if (t->interrupted) {
		t->interrupted = false;
		if (t->held)
			return true;
		call_restart(g, t, &regs, 0);
		regs_set(t->tid, &regs);
	}
	thread_resume(g, t, 0);
	return true;
}

/* --- choosing and borrowing -------------------------------------------------- */

/* A signal that it does not block waits: the program is to see what happens then. */
bool signal_waits(struct guardian *g, struct thread *t)
{
	uint64_t own = 0, shared = 0, blocked = 0;

	(void)g;
	status_number(t->tid, "SigPnd", 16, &own);
	status_number(t->tid, "ShdPnd", 16, &shared);
	status_number(t->tid, "SigBlk", 16, &blocked);
	return ((own | shared) & ~blocked) != 0;
}

/* How well it suits: lower is better, negative never. */
static int suits(struct guardian *g, struct thread *t)
{
	char path[64], buf[512], *at;
	const struct fragile *f;
	FILE *file;
	long nr;

	if (t->tgid != g->pid || t->helper || t->newborn || t->dead || t->held)
		return -1;
	snprintf(path, sizeof(path), "/proc/%d/stat", t->tid);
	file = fopen(path, "re");
	if (!file)
		return -1;
	at = fgets(buf, sizeof(buf), file) ? strrchr(buf, ')') : NULL;
	fclose(file);
	if (!at || !strchr("RSt", at[2]))
		return -1;
	if (at[2] == 'R')
		return 1;
	nr = sleeps_in(g, t);
	f = fragile_find(nr);
	if (!f || nr == SYS_futex || nr == SYS_read)
		return 0;
	return f->arg == ARG_NONE ? 3 : 4;
}

static struct thread *choose(struct guardian *g, int round)
{
	struct thread *t, *best = NULL;
	int best_score = 99;

	for (t = g->threads; t; t = t->next) {
		int score = suits(g, t);

		if (score < 0)
			continue;
		if (round && score == 0)
			score = round % 3; /* the favourite did not stop: try others too */
		if (score < best_score) {
			best_score = score;
			best = t;
		}
		if (best_score == 0)
			break;
	}
	return best;
}

/* Stop a thread where it can make a system call for us. `slept`: how long it had slept. */
static struct thread *borrow(struct guardian *g, uint64_t *slept)
{
	int round;

	for (round = 0; round < 200 && !g->gone && !g->execed; round++) {
		struct thread *t = choose(g, round);

		if (!t) {
			while (pump(g, false))
				;
			usleep(2000);
			continue;
		}
		*slept = sleep_so_far(g, t);
		if (!thread_interrupt(g, t, 50 + round))
			continue;
		*slept = sleep_confirmed(t, *slept);
		if (!signal_waits(g, t))
			return t;
		thread_release(g, t); /* let it have its signal first */
	}
	guardian_fail(g,
		"no thread of process %d could be stopped (all in vfork or uninterruptible "
		"sleep): try again later",
		g->pid);
	return NULL;
}

static struct thread *clone_helper(struct guardian *g, struct thread *from)
{
	const uint64_t flags =
		CLONE_VM | CLONE_FS | CLONE_FILES | CLONE_SIGHAND | CLONE_THREAD | CLONE_SYSVSEM;
	struct thread *t;
	long tid;

	/*
	 * The kernel registers a process with one thread at once; with two, the
	 * helper's own registration waits for a grace period of 10 ms or more.
	 */
	if (!g->threads->next)
		remote_call(g, from, SYS_membarrier,
			MEMBARRIER_CMD_REGISTER_PRIVATE_EXPEDITED_SYNC_CORE, 0, 0, 0, 0, 0);
	g->expecting = true;
	tid = remote_call(g, from, SYS_clone, flags, HELPER_SP, 0, 0, 0, 0);
	if (tid < 0) {
		g->expecting = false;
		guardian_fail(g, "process %d could not start the helper thread: %s", g->pid,
			strerror((int)-tid));
		return NULL;
	}
	for (;;) {
		for (t = g->threads; t; t = t->next) {
			struct user_regs_struct regs;

			if (t->tgid == g->pid && t->held && t->stopped && t != from && !t->helper &&
				!regs_get(t->tid, &regs) && regs.rsp == HELPER_SP) {
				t->helper = true;
				g->expecting = false;
				return t;
			}
		}
		if (g->gone || !pump(g, true))
			return NULL;
	}
}

/* Its id as its own namespace has it. */
static uint32_t own_id(pid_t tid)
{
	char path[64], line[256];
	uint32_t id = (uint32_t)tid;
	FILE *f;

	snprintf(path, sizeof(path), "/proc/%d/status", tid);
	f = fopen(path, "re");
	while (f && fgets(line, sizeof(line), f)) {
		if (!strncmp(line, "NSpid:", 6))
			id = (uint32_t)strtoul(strrchr(line, '\t'), NULL, 10);
	}
	if (f)
		fclose(f);
	return id;
}

/* from: a thread that is stopped and held already, or NULL. Leaves the helper stopped. */
struct thread *helper_start(struct guardian *g, struct thread *from)
{
	struct user_regs_struct saved;
	struct thread *t = from, *helper = NULL;
	uint64_t mask, slept = 0;

	eye_of(g);
	if (!t)
		t = borrow(g, &slept);
	if (!t)
		return NULL;
	saved.rip = 0;
	if (regs_get(t->tid, &saved) || mask_get(t->tid, &mask))
		goto out;
	if (!from)
		call_restart(g, t, &saved, slept);
	mask_set(t->tid, ~0ull);
	g->ctl->lender = own_id(t->tid);
	helper = clone_helper(g, t);
	if (!t->dead) {
		regs_set(t->tid, &saved);
		mask_set(t->tid, mask);
	}
out:
	if (!from && g->leaving && trap_stands(g, saved.rip))
		g->main_held = t;
	else if (!from)
		thread_release(g, t);
	g->helper = helper;
	return helper;
}

/* The text is restored: whoever was to make a probed system call again makes it there. */
void lender_release(struct guardian *g)
{
	struct thread *t = g->main_held;

	g->main_held = NULL;
	if (t)
		thread_release(g, t);
}

void helper_end(struct guardian *g)
{
	struct user_regs_struct regs;
	struct thread *t = g->helper;

	if (!t || regs_get(t->tid, &regs))
		return;
	regs.rax = SYS_exit;
	regs.orig_rax = (uint64_t)-1;
	regs.rdi = 0;
	regs.rip = g->syscall_insn;
	regs_set(t->tid, &regs);
	t->held = false;
	thread_resume(g, t, 0);
	while (g->helper && pump(g, true))
		;
}

static void serve(struct guardian *g)
{
	struct tl_ctl *c = g->ctl;

	switch (c->svc) {
	case TL_SVC_MAPS:
		c->svc_ret = maps_read(g) || images_read(g) ? -1 : 0;
		break;
	case TL_SVC_STOP:
		c->svc_ret = stop_all(g);
		break;
	case TL_SVC_RESUME:
		resume_all(g, c->svc_arg[0] != 0);
		c->svc_ret = 0;
		break;
	case TL_SVC_QUIET:
		c->svc_ret = quiet(g, c->svc_arg[0], c->svc_arg[1], NULL);
		break;
	case TL_SVC_BROKEN: {
		char text[128] = "";

		target_read(g, g->pid, c->svc_arg[0], text, sizeof(text) - 1);
		guardian_note(g, "the engine broke a promise: %s", text);
		c->svc_ret = 0;
		break;
	}
	default:
		c->svc_ret = -1;
	}
}

/* Run one command of the agent in the helper, serving its requests. Its result, or -1. */
int helper_command(struct guardian *g, int command)
{
	struct user_regs_struct regs;
	struct thread *t = g->helper;

	if (!t || regs_get(t->tid, &regs))
		return guardian_fail(g, "process %d has ended", g->pid);
	maps_read(g);
	g->ctl->command = (uint32_t)command;
	g->ctl->svc = 0;
	regs.rip = g->agent_entry;
	regs.rsp = g->stack_top;
	regs.rdi = g->ctl->self;
	regs.rbp = 0;
	regs.orig_rax = (uint64_t)-1;
	regs.eflags = 0x202;
	regs_set(t->tid, &regs);
	mask_set(t->tid, ~(1ull << (SIGSTKFLT - 1)));
	t->held = true;
	for (;;) {
		thread_resume(g, t, 0);
		while (g->helper && !t->stopped && pump(g, true))
			;
		if (!g->helper || g->gone || g->execed)
			return guardian_fail(g, "process %d has ended", g->pid);
		if (t->status >> 8 != SIGSTKFLT) {
			g->crashed = true;
			regs_get(t->tid, &regs);
			return guardian_fail(g,
				"the agent in process %d failed (signal %d at agent+0x%llx, "
				"command %d): "
				"please report this",
				g->pid, t->status >> 8 & 0xff, regs.rip - g->ctl->agent, command);
		}
		if (g->ctl->svc == TL_SVC_DONE)
			return (int)g->ctl->result;
		serve(g);
	}
}
