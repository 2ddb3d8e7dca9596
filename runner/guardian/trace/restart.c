/* SPDX-License-Identifier: MIT */
/*
 * A stop ends whatever call a thread slept in. Most calls the kernel itself
 * would start again; we do so by hand where our own call came in between.
 * Some (epoll_wait, semop, sigtimedwait ...) would tell the program EINTR:
 * they are issued again too, with the time that is left.
 */
#define _GNU_SOURCE
#include <errno.h>
#include <sched.h>
#include <stdio.h>
#include <time.h>

#include "../../base/proc.h"
#include "../../machine/calls.h"
#include "../guardian.h"
#include "concern.h"
#include "remote.h"
#include "restart.h"
#include "seccomp.h"

enum { ARG_NONE = CALL_ARGS }; /* else by its place */
enum { TIME_NONE, TIME_MS, TIME_SPEC };

/* Calls that end with EINTR on any stop, and where their time-out stands. */
static const struct fragile {
	short nr;
	uint8_t arg, kind;
} fragile[] = {
	{SYS_epoll_wait, 3, TIME_MS},
	{SYS_epoll_pwait, 3, TIME_MS},
	{SYS_epoll_pwait2, 3, TIME_SPEC},
	{SYS_semop, ARG_NONE, TIME_NONE},
	{SYS_semtimedop, 3, TIME_SPEC},
	{SYS_rt_sigtimedwait, 2, TIME_SPEC},
	{SYS_io_getevents, 4, TIME_SPEC},
	{SYS_io_uring_enter, ARG_NONE, TIME_NONE},
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
	{SYS_futex_waitv, ARG_NONE, TIME_NONE},
};

/*
 * Calls that the kernel goes on with by another one, restart_syscall(2), of
 * which a program's seccomp filter may never have heard.
 */
static const struct fragile continued[] = {
	{SYS_nanosleep, 0, TIME_SPEC},
	{SYS_clock_nanosleep, 2, TIME_SPEC},
	{SYS_poll, 2, TIME_MS},
	{SYS_futex, 3, TIME_SPEC},
};

static const struct fragile *find_in(const struct fragile *table, size_t n, long nr)
{
	size_t i;

	for (i = 0; i < n; i++) {
		if (table[i].nr == nr)
			return &table[i];
	}
	return NULL;
}

static const struct fragile *fragile_find(long nr)
{
	return find_in(fragile, sizeof(fragile) / sizeof(*fragile), nr);
}

static const struct fragile *continued_find(long nr)
{
	return find_in(continued, sizeof(continued) / sizeof(*continued), nr);
}

bool call_is_fragile(long nr)
{
	return fragile_find(nr) != NULL;
}

bool call_has_limit(long nr)
{
	const struct fragile *f = fragile_find(nr);

	return f && f->arg != ARG_NONE;
}

static bool call_is_continued(struct thread *t, const struct machine_regs *regs)
{
	return regs_result(regs) == RESTART_BLOCK && is_filtered(t->tid);
}

/* --- how long has it slept? -------------------------------------------------- */

/* What the scheduler tells of a thread. */
struct sched {
	/* When it last was on a processor, ns on that one's clock; 0: not told */
	uint64_t exec_start;
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

	snprintf(path, sizeof(path), "/proc/%d/sched", t->tid);
	return sched_of(path);
}

/* sleep_clock() for a thread that is about to be stopped; only where it matters. */
uint64_t sleep_so_far(struct guardian *g, struct thread *t)
{
	struct proc_sleep where;

	if (!proc_sleeps(t->tid, &where) ||
		!(call_has_limit(where.call) ||
			(continued_find(where.call) && is_filtered(t->tid))))
		return 0;
	/* The clock is read within the sleep that they count. */
	t->switches = sched_of_thread(t).switches;
	return sleep_clock(g, t);
}

/*
 * The same once it is stopped. The stop is one sleep; where there were more, its call may have ended meanwhile and
 * another may have begun: that one has slept for we do not know how long.
 */
uint64_t sleep_confirmed(struct thread *t, uint64_t slept)
{
	struct machine_regs regs;

	if (!slept || regs_get(t->tid, &regs)) /* which waits until it is off its processor */
		return 0;
	return sched_of_thread(t).switches == t->switches + 1 ? slept : 0;
}

/* ns since it fell asleep; 0: cannot be known. Read before it is woken. */
uint64_t sleep_clock(struct guardian *g, struct thread *t)
{
	cpu_set_t old, one;
	uint64_t theirs = sched_of_thread(t).exec_start, ours;
	int cpu = proc_cpu(t->tid); /* clocks of two need not agree */

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
static uint64_t spare_room(struct guardian *g, const struct machine_regs *regs)
{
	uint64_t at = (regs_sp(regs) - machine.red_zone - 14 * 1024) & ~15ull;
	char probe;

	return target_read(g, g->pid, at, &probe, 1) == 1 ? at : (regs_sp(regs) - 512) & ~15ull;
}

static bool set_time(
	struct guardian *g, const struct fragile *f, struct machine_regs *regs, uint64_t ns)
{
	struct timespec ts = {(time_t)(ns / 1000000000u), (long)(ns % 1000000000u)};
	uint64_t at;

	if (f->kind == TIME_MS) {
		regs_call_arg_set(regs, f->arg, (ns + 999999u) / 1000000u);
		return true;
	}
	at = spare_room(g, regs);
	if (target_write(g, g->pid, at, &ts, sizeof(ts)))
		return false;
	regs_call_arg_set(regs, f->arg, at);
	return true;
}

static void less_time(struct guardian *g, struct thread *t, const struct fragile *f,
	struct machine_regs *regs, uint64_t slept)
{
	uint64_t limit, now = now_ns(), left;
	uint64_t value = regs_call_arg(regs, f->arg);

	if (t->again.on) { /* issued again before: its end is known */
		left = t->again.deadline_ns > now ? t->again.deadline_ns - now : 0;
	} else {
		if (!time_limit(g, f, value, &limit))
			return;
		left = slept < limit ? limit - slept : 0;
		t->again.value = value;
		t->again.arg = f->arg;
		t->again.deadline_ns = now + left;
	}
	if (set_time(g, f, regs, left)) {
		t->again.on = true;
		t->again.inside = false;
	}
}

/* One that would end with EINTR, or go on by a call that is forbidden, for nothing but a stop. */
bool call_was_cut(struct thread *t, const struct machine_regs *regs)
{
	return regs_call(regs) >= 0 && regs_result(regs) < 0 &&
	       (call_is_fragile(regs_call(regs)) || call_is_continued(t, regs));
}

/* Have the interrupted call start again when the thread goes on. No signal waits for it. */
void call_restart(struct guardian *g, struct thread *t, struct machine_regs *regs, uint64_t slept)
{
	const struct fragile *f;
	long nr = regs_call(regs);

	if (nr < 0 || call_begins(t->tid, regs)) /* at a call's entry, it is still to be made */
		return;
	regs_call_forget(regs);
	switch (regs_result(regs)) {
	case RESTART_SYS:
	case RESTART_NOINTR:
	case RESTART_NOHAND:
		regs_call_again(regs, nr);
		return;
	case RESTART_BLOCK:
		f = is_filtered(t->tid) ? continued_find(nr) : NULL;
		regs_call_again(regs, f ? nr : SYS_restart_syscall);
		if (f)
			less_time(g, t, f, regs, slept);
		return;
	case -EINTR:
		f = fragile_find(nr == SYS_restart_syscall ? -1 : nr);
		if (!f)
			return;
		regs_call_again(regs, nr);
		if (f->arg != ARG_NONE)
			less_time(g, t, f, regs, slept);
		return;
	default:
		if (t->again.on) { /* it has ended just now */
			regs_call_arg_set(regs, t->again.arg, t->again.value);
			t->again.on = false;
		}
	}
}

/* Has a call been issued again that has not begun yet? */
bool again_coming(const struct guardian *g)
{
	const struct thread *t;

	for (t = g->threads; t; t = t->next) {
		if (!t->dead && t->again.on && !t->again.inside)
			return true;
	}
	return false;
}

static bool cut_short(long result)
{
	return result == -EINTR || (result <= RESTART_SYS && result >= RESTART_BLOCK);
}

bool again_wants_syscalls(const struct guardian *g, const struct thread *t)
{
	(void)g;
	return t->again.on;
}

/*
 * A system call stop of a thread whose call was issued again: at the call's end
 * its argument is put back. A stop that was asked for ends the call, and this
 * stop is then the one that was asked for: no other follows.
 */
enum verdict again_at_call(struct guardian *g, struct thread *t)
{
	struct machine_regs regs;

	if (!t->again.on)
		return PASS;
	t->again.inside = !t->again.inside;
	if (t->again.inside || regs_get(t->tid, &regs))
		return GOES;
	if (!cut_short(regs_result(&regs))) {
		regs_call_arg_set(&regs, t->again.arg, t->again.value);
		regs_set(t->tid, &regs);
		t->again.on = false;
	} else if (t->interrupted) {
		t->interrupted = false;
		if (t->held)
			return STAYS;
		call_restart(g, t, &regs, 0);
		regs_set(t->tid, &regs);
	}
	return GOES;
}

/* A signal that would be thrown away had nobody traced: it must not end a sleep. */
static bool is_ignored(struct thread *t, int sig)
{
	char text[PROC_TEXT];

	return proc_read_of(t->tid, "status", text, sizeof(text)) > 0 &&
	       proc_ignored(text) >> (sig - 1) & 1;
}

enum verdict call_at_signal(struct guardian *g, struct thread *t, int sig)
{
	struct machine_regs regs;

	if (!is_ignored(t, sig) || regs_get(t->tid, &regs) || !call_was_cut(t, &regs))
		return PASS;
	call_restart(g, t, &regs, sleep_clock(g, t));
	regs_set(t->tid, &regs);
	return GOES;
}
