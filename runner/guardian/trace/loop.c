/* SPDX-License-Identifier: MIT */
/* The guardian's event loop: every stop of every traced thread comes through here. */
#define _GNU_SOURCE
#include <errno.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/ptrace.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "../../base/proc.h"
#include "../../machine/calls.h"
#include "../guardian.h"
#include "../family/children.h"
#include "../family/launch.h"
#include "../family/parking.h"
#include "../family/selftrace.h"
#include "../family/sharing.h"
#include "../family/traceme.h"
#include "../family/vforked.h"
#include "../leave/leave.h"
#include "../mend/alignment.h"
#include "../mend/faults.h"
#include "../mend/handlers.h"
#include "../mend/masks.h"
#include "../mend/owntraps.h"
#include "../mend/signals.h"
#include "../mend/trapmend.h"
#include "../mend/trapsvc.h"
#include "../session/clients.h"
#include "../session/events.h"
#include "../session/samples.h"
#include "../session/watchpoints.h"
#include "dispatch.h"
#include "loop.h"
#include "restart.h"
#include "stack.h"
#include "stop.h"

enum { SYSCALL_STOP = SIGTRAP | 0x80, STILL_TOLD = 16, TURN = 8 };

static struct thread **bucket(struct guardian *g, pid_t tid)
{
	return &g->by_tid[tid % THREAD_BUCKETS];
}

struct thread *thread_find(const struct guardian *g, pid_t tid)
{
	struct thread *t = g->by_tid[tid % THREAD_BUCKETS];

	while (t && t->tid != tid)
		t = t->same_hash;
	return t;
}

struct thread *thread_add(struct guardian *g, pid_t tid, pid_t tgid)
{
	struct thread *t = calloc(1, sizeof(*t));

	if (!t)
		return NULL;
	t->tid = tid;
	t->tgid = tgid;
	t->next = g->threads;
	g->threads = t;
	t->same_hash = *bucket(g, tid);
	*bucket(g, tid) = t;
	g->nthreads++;
	return t;
}

void thread_drop(struct guardian *g, struct thread *t)
{
	struct thread **link = &g->threads;

	thread_unpublish(g, t);
	sharing_ends(g, t);
	events_forget(g, t);
	while (*link != t)
		link = &(*link)->next;
	*link = t->next;
	for (link = bucket(g, t->tid); *link != t;)
		link = &(*link)->same_hash;
	*link = t->same_hash;
	g->nthreads--;
	free(t);
}

void thread_resume(struct guardian *g, struct thread *t, int sig)
{
	bool calls = t->follow || t->again.on || t->calling || t->dispatch.mode ||
		     fault_is_followed(g, t) || mask_is_followed(g, t);
	long how = calls ? PTRACE_SYSCALL : PTRACE_CONT;
	bool to_text;

	if ((t->untold || t->own_trap || t->applies) &&
		!t->calling) /* events_go_on() does it, own_traps_deliver(), traceme_serve() */
		return;
	to_text = signal_steps(g, t, &sig);
	t->steps =
		sig && !to_text && (mask_changes_by(g, t, sig) || t->windowed || t->into_handler);
	t->into_handler = false;
	if (t->steps && !(signal_bit(sig) & signals_of_insns()))
		step_spare(g, t);
	t->stopped = false;
	t->awaited = 0;
	if ((t->interrupted || t->parts) &&
		!t->calling) /* any stop takes away one that was asked for */
		ptrace(PTRACE_INTERRUPT, t->tid, 0, 0);
	t->stepping = t->steps || to_text || t->unaligned;
	if (t->stepping)
		step_begin(t->tid, sig);
	else
		ptrace(how, t->tid, 0, (long)sig);
}

static void thread_ended(struct guardian *g, struct thread *t)
{
	struct thread *o;

	thread_over(g, t);
	if (t->tid == g->pid)
		g->gone = true;
	if (t == g->helper) {
		g->helper = NULL;
		g->ctl->helper = 0;
	}
	t->dead = true;
	t->stopped = false;
	selftrace_over(g, t);
	for (o = g->threads; o && (o->dead || o->tgid != g->pid); o = o->next)
		;
	if (!o) /* also where the first thread had ended before we came */
		g->gone = true;
	sharing_ends(g, t);
	child_settled(g, t->tid);
	if ((!t->held || t->asked) && !t->calling)
		thread_drop(g, t);
}

/* A signal that would be thrown away had nobody traced: it must not end a sleep. */
static bool is_ignored(struct thread *t, int sig)
{
	char text[PROC_TEXT];

	return proc_read_of(t->tid, "status", text, sizeof(text)) > 0 &&
	       proc_ignored(text) >> (sig - 1) & 1;
}

static void send_late_stop(struct thread *t)
{
	if (t->late_stop)
		kill(t->tid, SIGSTOP);
	t->late_stop = 0;
}

void signal_deliver(struct guardian *g, struct thread *t, int sig)
{
	if (sig == SIGTRAP)
		own_trap_begins(g, t);
	fault_mend(g, t, sig);
	thread_resume(g, t, signal_keep(g, t, sig) ? 0 : sig);
}

/* A step may be one over a hit. */
static bool trap_is_ours(struct guardian *g, struct thread *t)
{
	bool watched = watchpoint_hit(g, t);

	return signal_stepped(g, t) || watched || alignment_stepped(t) || mask_at_handler(g, t) ||
	       trap_hit(g, t);
}

static void signal_stop(struct guardian *g, struct thread *t, int sig)
{
	struct machine_regs regs;

	if (t->calling && !t->helper && sig == SIGSTOP) { /* the only one that cannot be blocked */
		t->late_stop = sig;
		thread_resume(g, t, 0);
		return;
	}
	if (sig == SIGTRAP && trap_is_ours(g, t)) {
		if (g->at_entry != t && g->at_dlopen != t) /* there the main loop takes over */
			thread_resume(g, t, 0);
		send_late_stop(t);
		return;
	}
	if ((sig == SIGSEGV || sig == SIGBUS) &&
		(alignment_faults(g, t, sig) || handler_faults(g, t, sig))) {
		thread_resume(g, t, 0);
		send_late_stop(t);
		return;
	}
	if (sig == SIGSYS && dispatch_leads_on(g, t)) {
		thread_resume(g, t, 0);
		return;
	}
	if (is_ignored(t, sig) && !regs_get(t->tid, &regs) && call_was_cut(t, &regs)) {
		uint64_t slept = sleep_clock(g, t);

		call_restart(g, t, &regs, slept);
		regs_set(t->tid, &regs);
		thread_resume(g, t, 0);
		return;
	}
	signal_as_it_was(t, sig);
	if (sig != SIGTRAP || !own_trap_waits(g, t))
		signal_deliver(g, t, sig);
}

static bool is_job_control(int sig)
{
	return sig == SIGSTOP || sig == SIGTSTP || sig == SIGTTIN || sig == SIGTTOU;
}

static void trap_stop(struct guardian *g, struct thread *t, int sig)
{
	if (t->newborn) {
		pid_t tid = t->tid;

		t->newborn = false;
		child_born(g, t);
		child_settled(g, tid);
		return;
	}
	if (t->helper) { /* what it does is not the program's, which may stop and go on meanwhile */
		thread_resume(g, t, 0);
		return;
	}
	if (t->calling) { /* a stop that was asked for before: it is again behind the call */
		t->late_stop = is_job_control(sig) ? SIGSTOP : t->late_stop;
		thread_resume(g, t, 0);
		return;
	}
	if (t->interrupted && sig == SIGTRAP)
		t->interrupted = false;
	if (t->held)
		return; /* stays stopped for whoever waits */
	if (t->nsamples && sig == SIGTRAP)
		sample_take(g, t);
	if (is_job_control(sig)) {
		t->stopped = false;
		ptrace(PTRACE_LISTEN, t->tid, 0, 0);
		return;
	}
	thread_resume(g, t, 0);
}

static void search_on(struct guardian *g, struct thread *t)
{
	traceme_program(t);
	thread_resume(g, t, 0);
}

static void became_other_program(struct guardian *g, struct thread *t)
{
	struct thread *o, *next;
	pid_t tgid = t->tgid;

	if (tgid != g->pid && launch_searches(g)) {
		if (!launch_adopt(g, t))
			search_on(g, t);
		return;
	}
	if (tgid != g->pid) { /* a vfork child on its own way now */
		pid_t tid = t->tid;

		sharing_ends(g, t);
		thread_unpublish(g, t);
		if (program_hand_over(g, t))
			return;
		thread_drop(g, t);
		g->children++;
		ptrace(PTRACE_DETACH, tid, 0, 0);
		return;
	}
	process_over(g);
	for (o = g->threads; o; o = next) { /* the other threads are gone */
		next = o->next;
		if (o != t && o->tgid == tgid && (!o->held || o->asked) && !o->calling)
			thread_drop(g, o);
	}
	g->helper = NULL;
	g->eye = t->tid;
	g->watchpoints_stand = g->watchpoints_known = false; /* nor are they */
	t->again.on = t->follow = t->held = t->asked = t->exits = false;
	t->kept.sig = 0;
	t->frame = t->go_block = t->go_machine = 0;
	launch_exec(g, t);
}

/* Does the whole process end with this thread? Its memory is still there. */
static bool is_last_act(struct guardian *g, struct thread *t)
{
	struct machine_regs regs;
	unsigned long code = 0;
	struct thread *o;

	if (!g->armed)
		return false;
	ptrace(PTRACE_GETEVENTMSG, t->tid, 0, &code);
	if (WIFSIGNALED((int)code) ||
		(!regs_get(t->tid, &regs) && regs_call(&regs) == SYS_exit_group))
		return true;
	for (o = g->threads; o; o = o->next) {
		if (o != t && o->tgid == g->pid && !o->dead)
			return false;
	}
	return true;
}

static struct thread *newborn(struct guardian *g, pid_t tid)
{
	uint64_t tgid = 0;
	struct thread *t;

	proc_status(tid, "Tgid", 10, &tgid);
	t = thread_add(g, tid, (pid_t)tgid);
	if (t) {
		t->newborn = true;
		thread_publish(g, t);
	}
	return t;
}

static pid_t event_child(const struct thread *parent)
{
	unsigned long tid = 0;

	return ptrace(PTRACE_GETEVENTMSG, parent->tid, 0, &tid) ? 0 : (pid_t)tid;
}

/* A child that has not come to its own first stop yet: known from here, so that nobody leaves before that. */
static void announced(struct guardian *g, struct thread *parent, bool vforked)
{
	pid_t tid = event_child(parent);
	struct thread *t = thread_find(g, tid);
	struct machine_regs regs;
	uint64_t tracer = 0;

	if (vforked && !stack_is_known(g, parent) && !regs_get(parent->tid, &regs))
		stack_learn(g, parent, &regs);
	if (!t && tid && !proc_status(tid, "TracerPid", 10, &tracer) && (pid_t)tracer == getpid())
		t = newborn(g, tid);
	if (t) {
		t->vforked = vforked;
		t->parent = parent->tid;
		if (vforked) {
			parent->vfork_child = tid;
			t->go_block = parent->go_block;
		}
	}
}

static void event_stop(struct guardian *g, struct thread *t, int event, int sig)
{
	switch (event) {
	case PTRACE_EVENT_STOP:
		trap_stop(g, t, sig);
		break;
	case PTRACE_EVENT_EXIT:
		t->exits = true;
		g->exits |= t->tgid == g->pid && !t->helper;
		if (t->tgid == g->pid && is_last_act(g, t))
			counts_at_exit(g);
		thread_exits(g, t);
		selftrace_over(g, t);
		sharing_ends(g, t); /* it does not run the program any more */
		thread_resume(g, t, 0);
		break;
	case PTRACE_EVENT_EXEC:
		became_other_program(g, t);
		break;
	case PTRACE_EVENT_VFORK_DONE:
		vfork_over(g, t);
		traceme_over(g, event_child(t));
		thread_resume(g, t, 0);
		break;
	default: /* fork, vfork, clone: the child's own first stop tells all */
		announced(g, t, event == PTRACE_EVENT_VFORK);
		if (event != PTRACE_EVENT_FORK || !child_awaited(g, t, event_child(t)))
			thread_resume(g, t, 0);
	}
}

static bool is_fault(int sig)
{
	return sig == SIGSEGV || sig == SIGBUS || sig == SIGILL || sig == SIGFPE || sig == SIGTRAP;
}

static void dispatch(struct guardian *g, pid_t tid, int status)
{
	struct thread *t = thread_find(g, tid);
	int sig, event;

	if (!WIFSTOPPED(status)) {
		if (t)
			thread_ended(g, t);
		return;
	}
	if (!t)
		t = newborn(g, tid);
	if (!t)
		return;
	t->stopped = true;
	t->status = status;
	if (t->stepping)
		step_end(t->tid);
	t->stepping = false;
	alignment_again(t);
	events_forget(g, t); /* killed while it waited */
	if (!t->calling)
		dispatch_on(t); /* the call is under way, or begins anew */
	watchpoints_follow(g, t);
	if (traceme_may_part(g, t)) {
		traceme_part(g, t);
		return;
	}
	sig = WSTOPSIG(status);
	event = status >> 16;
	if (sig == SYSCALL_STOP) {
		if (t->calling || again_stop(g, t))
			return;
		mask_at_call(g, t);
		fault_at_call(g, t);
		if (traceme_coming(g, t))
			return;
		if (t->follow && t->tgid == g->pid && launch_syscall_stop(g, t))
			return;
		thread_resume(g, t, 0);
	} else if (event) {
		event_stop(g, t, event, sig);
	} else if (t->helper && helper_faults(g, t, sig)) {
		thread_resume(g, t, 0);
	} else if (t->helper && (sig == g->helper_signal || is_fault(sig))) {
		return; /* a request, or the agent's own failure: helper_command() looks at it */
	} else {
		signal_stop(g, t, sig);
	}
}

/*
 * The kernel tells first of those that were seized last: threads that stop all the time would leave no turn to the
 * ones before. So now and then one is asked for by name, in turn.
 */
static pid_t ask_next(struct guardian *g, int *status)
{
	const struct thread *t = thread_find(g, g->turn);

	t = t && t->next ? t->next : g->threads;
	g->turn = t ? t->tid : 0;
	return t ? waitpid(t->tid, status, __WALL | WNOHANG) : 0;
}

/* One wait. 1: an event was dealt with, 0: nothing, -1: a signal came. */
static int take_event(struct guardian *g, int flags)
{
	static unsigned waits;
	int status;
	pid_t tid = ++waits % TURN ? 0 : ask_next(g, &status);

	if (tid <= 0)
		tid = waitpid(-1, &status, __WALL | flags);
	if (tid > 0) {
		dispatch(g, tid, status);
		return 1;
	}
	if (tid < 0 && errno == EINTR)
		return -1;
	if (tid < 0 && errno == ECHILD)
		g->gone = true;
	return 0;
}

bool pump(struct guardian *g, bool block)
{
	int ret;

	while ((ret = take_event(g, block ? 0 : WNOHANG)) < 0)
		;
	return ret;
}

bool pump_briefly(struct guardian *g)
{
	return take_event(g, 0) > 0;
}

/* A little rest that ends at the next event. */
static void wait_event(struct guardian *g, int ms)
{
	struct timespec ts = {0, ms * 1000000L};
	sigset_t chld;

	(void)g;
	sigemptyset(&chld);
	sigaddset(&chld, SIGCHLD);
	sigtimedwait(&chld, NULL, &ts);
}

void pump_for(struct guardian *g, int ms)
{
	double end = now_ms() + ms, now;

	while (!target_ended(g) && (now = now_ms()) < end) {
		if (!pump(g, false))
			wait_event(g, (int)(end - now) + 1);
	}
}

void pump_while(struct guardian *g, bool (*comes)(const struct guardian *), int ms)
{
	double end = now_ms() + ms;

	while (comes(g) && !target_ended(g) && now_ms() < end)
		pump_for(g, 1);
}

/* To stop, and to stay so. */
bool thread_ask(struct thread *t)
{
	t->held = t->interrupted || !ptrace(PTRACE_INTERRUPT, t->tid, 0, 0);
	t->interrupted = t->held;
	t->still_since = t->held ? now_ns() : 0;
	return t->held;
}

/* One that was asked. false: t may be gone. */
bool thread_await(struct guardian *g, struct thread *t, int timeout_ms)
{
	double end = now_ms() + timeout_ms;
	pid_t tid = t->tid;

	while (!t->stopped && !t->dead && now_ms() < end && !stop_held_up(g, t)) {
		if (!pump(g, false))
			wait_event(g, 2);
		if (thread_find(g, tid) != t) /* it has become another program */
			return false;
	}
	if (t == g->at_end) /* the same, by its first thread: it stands for program_over() */
		return false;
	if (t->stopped && !t->dead)
		return true;
	t->held = false; /* the stop may come later: the pump lets it go on */
	t->still_since = 0;
	if (t->dead)
		thread_drop(g, t);
	return false;
}

bool thread_interrupt(struct guardian *g, struct thread *t, int timeout_ms)
{
	return thread_ask(t) && thread_await(g, t, timeout_ms);
}

static void note_still(struct thread *t)
{
	uint64_t ns = t->still_since ? now_ns() - t->still_since : 0;

	t->still += ns;
	if (ns > t->still_longest)
		t->still_longest = ns;
	t->still_since = 0;
}

void threads_tell_still(const struct guardian *g)
{
	const struct thread *t;
	unsigned n = 0;

	for (t = clients_verbose(g) ? g->threads : NULL; t && n < STILL_TOLD; t = t->next) {
		if (!thread_is_theirs(t))
			continue;
		n++;
		note_all(g, "%-10s %8.3f ms at most, %.3f ms in all: thread %d", "still",
			(double)t->still_longest / 1e6, (double)t->still / 1e6, t->tid);
	}
}

void thread_release(struct guardian *g, struct thread *t)
{
	note_still(t);
	if (t == g->at_dlopen || t == g->at_end) /* the main loop's */
		return;
	t->held = t->asked = false;
	if (t->dead) {
		thread_drop(g, t);
		return;
	}
	send_late_stop(t);
	if (!t->stopped)
		return;
	if (t->status >> 16 == PTRACE_EVENT_STOP && is_job_control(WSTOPSIG(t->status))) {
		t->stopped = false;
		ptrace(PTRACE_LISTEN, t->tid, 0, 0);
		return;
	}
	thread_resume(g, t, 0);
}
