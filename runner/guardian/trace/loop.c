/* SPDX-License-Identifier: MIT */
/* The guardian's event loop: every stop of every traced thread comes through here. */
#define _GNU_SOURCE
#include <errno.h>
#include <signal.h>
#include <sys/ptrace.h>
#include <sys/wait.h>
#include <time.h>

#include "../guardian.h"
#include "concern.h"
#include "loop.h"
#include "threads.h"

enum { SYSCALL_STOP = SIGTRAP | 0x80, TURN = 8 };

static bool any_of(bool (*const ask[])(const struct guardian *, const struct thread *),
	const struct guardian *g, const struct thread *t)
{
	while (*ask && !(*ask)(g, t))
		ask++;
	return *ask;
}

static void tell_each(void (*const tell[])(struct guardian *, struct thread *), struct guardian *g,
	struct thread *t)
{
	for (; *tell; tell++)
		(*tell)(g, t);
}

static enum verdict ask_each(enum verdict (*const ask[])(struct guardian *, struct thread *),
	struct guardian *g, struct thread *t)
{
	enum verdict v = PASS;

	for (; *ask && v == PASS; ask++)
		v = (*ask)(g, t);
	return v;
}

static enum verdict ask_with(enum verdict (*const ask[])(struct guardian *, struct thread *, int),
	struct guardian *g, struct thread *t, int with)
{
	enum verdict v = PASS;

	for (; *ask && v == PASS; ask++)
		v = (*ask)(g, t, with);
	return v;
}

/* --- going on ---------------------------------------------------------------------------- */

static bool resumes_by_step(struct guardian *g, struct thread *t, int *sig)
{
	bool (*const *ask)(struct guardian *, struct thread *, int *) = g->concerns->on_resume;
	bool step = false;

	for (; *ask && !step; ask++)
		step = (*ask)(g, t, sig);
	return step;
}

static bool steps_into_handler(struct guardian *g, struct thread *t, int sig)
{
	bool (*const *ask)(struct guardian *, struct thread *, int) = g->concerns->wants_step;

	while (*ask && !(*ask)(g, t, sig))
		ask++;
	return *ask;
}

void thread_resume(struct guardian *g, struct thread *t, int sig)
{
	void (*const *before)(struct guardian *, struct thread *, int) = g->concerns->before_step;
	bool calls = t->follow || t->calling || any_of(g->concerns->wants_syscalls, g, t);
	bool to_text;

	if (!t->calling && any_of(g->concerns->keeps, g, t))
		return;
	to_text = resumes_by_step(g, t, &sig);
	t->steps = sig && !to_text && steps_into_handler(g, t, sig);
	t->into_handler = false;
	for (; t->steps && *before; before++)
		(*before)(g, t, sig);
	t->stopped = false;
	t->awaited = 0;
	if ((t->interrupted || t->parts) &&
		!t->calling) /* any stop takes away one that was asked for */
		ptrace(PTRACE_INTERRUPT, t->tid, 0, 0);
	t->stepping = t->steps || to_text || t->unaligned;
	if (t->stepping)
		step_begin(t->tid, sig);
	else
		ptrace(calls ? PTRACE_SYSCALL : PTRACE_CONT, t->tid, 0, (long)sig);
}

static void thread_ended(struct guardian *g, struct thread *t)
{
	struct thread *o;

	tell_each(g->concerns->on_over, g, t);
	if (t->tid == g->pid)
		g->gone = true;
	if (t == g->helper) {
		g->helper = NULL;
		g->ctl->helper = 0;
	}
	t->dead = true;
	t->stopped = false;
	tell_each(g->concerns->on_dead, g, t);
	for (o = g->threads; o && (o->dead || o->tgid != g->pid); o = o->next)
		;
	if (!o) /* also where the first thread had ended before we came */
		g->gone = true;
	if ((!t->held || t->asked) && !t->calling)
		thread_drop(g, t);
}

static void send_late_stop(struct thread *t)
{
	if (t->late_stop)
		kill(t->tid, SIGSTOP);
	t->late_stop = 0;
}

/* --- stops ------------------------------------------------------------------------------- */

void signal_deliver(struct guardian *g, struct thread *t, int sig)
{
	void (*const *tell)(struct guardian *, struct thread *, int *) = g->concerns->on_delivery;

	for (; *tell; tell++)
		(*tell)(g, t, &sig);
	thread_resume(g, t, sig);
}

static bool trap_is_ours(struct guardian *g, struct thread *t)
{
	enum claim (*const *ask)(struct guardian *, struct thread *) = g->concerns->on_trap;
	enum claim claim = NOT_MINE;
	bool ours = false;

	for (; *ask && claim != MINE; ask++) {
		claim = (*ask)(g, t);
		if (claim == NOT_MINE && ours)
			break;
		ours |= claim != NOT_MINE;
	}
	return ours;
}

static void signal_stop(struct guardian *g, struct thread *t, int sig)
{
	enum verdict v;

	if (t->calling && !t->helper && sig == SIGSTOP) { /* the only one that cannot be blocked */
		t->late_stop = sig;
		thread_resume(g, t, 0);
		return;
	}
	if (sig == SIGTRAP && trap_is_ours(g, t))
		/* there the main loop takes over */
		v = g->at_entry == t || g->at_dlopen == t ? STAYS : GOES;
	else
		v = ask_with(g->concerns->on_signal, g, t, sig);
	if (v == PASS) {
		signal_deliver(g, t, sig);
		return;
	}
	if (v == GOES)
		thread_resume(g, t, 0);
	send_late_stop(t);
}

static bool is_job_control(int sig)
{
	return sig == SIGSTOP || sig == SIGTSTP || sig == SIGTTIN || sig == SIGTTOU;
}

static void trap_stop(struct guardian *g, struct thread *t, int sig)
{
	if (t->newborn) {
		t->newborn = false;
		tell_each(g->concerns->on_born, g, t);
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
	if (sig == SIGTRAP)
		tell_each(g->concerns->on_interrupt, g, t);
	if (is_job_control(sig)) {
		t->stopped = false;
		ptrace(PTRACE_LISTEN, t->tid, 0, 0);
		return;
	}
	thread_resume(g, t, 0);
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
		tell_each(g->concerns->on_exit, g, t);
		thread_resume(g, t, 0);
		break;
	case PTRACE_EVENT_EXEC:
		tell_each(g->concerns->on_exec, g, t);
		break;
	case PTRACE_EVENT_VFORK_DONE:
		tell_each(g->concerns->on_vfork_done, g, t);
		thread_resume(g, t, 0);
		break;
	default: /* fork, vfork, clone */
		if (ask_with(g->concerns->on_birth, g, t, event) != STAYS)
			thread_resume(g, t, 0);
	}
}

static bool is_fault(int sig)
{
	return sig == SIGSEGV || sig == SIGBUS || sig == SIGILL || sig == SIGFPE || sig == SIGTRAP;
}

static void serve(struct guardian *g, pid_t tid, int status)
{
	struct thread *t = thread_find(g, tid);
	int sig, event;

	if (!WIFSTOPPED(status)) {
		if (t)
			thread_ended(g, t);
		return;
	}
	if (!t)
		t = thread_newborn(g, tid);
	if (!t)
		return;
	t->stopped = true;
	t->status = status;
	if (t->stepping)
		step_end(t->tid);
	t->stepping = false;
	if (ask_each(g->concerns->on_stop, g, t) == STAYS)
		return;
	sig = WSTOPSIG(status);
	event = status >> 16;
	if (sig == SYSCALL_STOP) {
		if (!t->calling && ask_each(g->concerns->on_call, g, t) != STAYS)
			thread_resume(g, t, 0);
	} else if (event) {
		event_stop(g, t, event, sig);
	} else if (t->helper && ask_with(g->concerns->on_helper_signal, g, t, sig) != PASS) {
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
		serve(g, tid, status);
		return 1;
	}
	if (tid < 0 && errno == EINTR)
		return -1;
	if (tid < 0 && errno == ECHILD)
		g->gone = true;
	return 0;
}

bool loop_event(struct guardian *g, bool block)
{
	int ret;

	while ((ret = take_event(g, block ? 0 : WNOHANG)) < 0)
		;
	return ret;
}

bool loop_event_briefly(struct guardian *g)
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

void loop_for(struct guardian *g, int ms)
{
	double end = now_ms() + ms, now;

	while (!target_ended(g) && (now = now_ms()) < end) {
		if (!loop_event(g, false))
			wait_event(g, (int)(end - now) + 1);
	}
}

void loop_while(struct guardian *g, bool (*comes)(const struct guardian *), int ms)
{
	double end = now_ms() + ms;

	while (comes(g) && !target_ended(g) && now_ms() < end)
		loop_for(g, 1);
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
		if (!loop_event(g, false))
			wait_event(g, 2);
		if (thread_find(g, tid) != t) /* it has become another program */
			return false;
	}
	if (t == g->at_end) /* the same, by its first thread: it stands for program_over() */
		return false;
	if (t->stopped && !t->dead)
		return true;
	t->held = false; /* the stop may come later: the loop lets it go on */
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
