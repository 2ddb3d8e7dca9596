/* SPDX-License-Identifier: MIT */
/* The guardian's life: seize, inject, arm, watch, leave. */
#define _GNU_SOURCE
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <sys/prctl.h>
#include <sys/signalfd.h>
#include <sys/socket.h>
#include <sys/time.h>
#include <unistd.h>

#include "../base/joining.h"
#include "../base/proc.h"
#include "guardian.h"
#include "family/launch.h"
#include "family/parking.h"
#include "family/traceme.h"
#include "leave/leave.h"
#include "leave/part.h"
#include "leave/recover.h"
#include "mend/handlerend.h"
#include "mend/owntraps.h"
#include "mend/watch.h"
#include "session/arm.h"
#include "session/clients.h"
#include "session/events.h"
#include "session/hear.h"
#include "session/join.h"
#include "trace/cloning.h"
#include "trace/loop.h"
#include "trace/remote.h"
#include "trace/say.h"
#include "trace/seize.h"

enum { TICK_US = 4000, SHARED_MS = 2000, LISTEN_MS = 20 };

/*
 * While breakpoints are hit one after the other, we sleep in waitpid itself:
 * one system call a hit where poll and signalfd take five. A clock breaks the
 * wait, so that the runner is heard, and ends this when no more hits come.
 */
static volatile sig_atomic_t ticked;

static void on_tick(int sig)
{
	(void)sig;
	ticked = 1;
}

static void set_hot(struct guardian *g, bool hot)
{
	const struct itimerval tick = {{0, hot ? TICK_US : 0}, {0, hot ? TICK_US : 0}};

	if (g->hot == hot)
		return;
	g->hot = hot;
	ticked = 0;
	setitimer(ITIMER_REAL, &tick, NULL);
}

/* One event, or a rest without any. */
static void next_event(struct guardian *g)
{
	static uint64_t stops;

	if (g->nuntold || g->own_traps) {
		set_hot(g, false);
		guardian_event(g);
	} else if (!g->hot) {
		if (guardian_event(g) && g->stops != stops)
			set_hot(g, true);
	} else if (ticked) {
		ticked = 0;
		g->knocked = g->door >= 0;
		handler_runs_check(g);
		clients_hear(g);
		set_hot(g, g->stops != stops);
		stops = g->stops;
	} else {
		loop_event_briefly(g);
	}
}

/* What has waited for a quiet moment: not while the loader may map what is to be armed at once. */
static int serve_others(struct guardian *g)
{
	if (g->nuntold)
		events_go_on(g);
	own_traps_deliver(g);
	if (launch_under_way(g))
		return 0;
	session_follow(g);
	session_tune(g);
	if (clients_part(g))
		return -1;
	door_answer(g);
	return 0;
}

static int watch(struct guardian *g)
{
	bool said = false;

	while (!target_ended(g) && !clients_leave(g)) {
		traceme_serve(g);
		if (!launch_under_way(g))
			session_watch(g);
		door_open(g);
		if (!launch_step_due(g)) { /* it may have come while we did something else */
			g->watching = true;
			next_event(g);
			g->watching = false;
		}
		if (launch_step_due(g)) {
			set_hot(g, false); /* it breaks other calls too */
			if (launch_step(g))
				return -1;
		}
		if (g->launched && g->armed && !said) {
			said = true;
			tell(&g->clients->tell, MSG_READY, g->clients->narmed, "");
		}
		if (serve_others(g))
			return -1;
	}
	set_hot(g, false);
	return 0;
}

static void settle_in(struct guardian *g)
{
	const struct sigaction tick = {.sa_handler = on_tick}; /* no SA_RESTART */
	sigset_t set;
	int null, sig;

	setsid();
	prctl(PR_SET_NAME, "trapless-guard", 0, 0, 0);
	for (sig = 1; sig < 32; sig++) {
		if (sig != SIGCHLD && sig != SIGSEGV && sig != SIGBUS && sig != SIGABRT)
			signal(sig, SIG_IGN);
	}
	signal(SIGCHLD, SIG_DFL);
	sigaction(SIGALRM, &tick, NULL);
	sigemptyset(&set);
	sigaddset(&set, SIGCHLD);
	sigprocmask(SIG_SETMASK, &set, NULL);
	g->sigchld = signalfd(-1, &set, SFD_CLOEXEC | SFD_NONBLOCK);
	null = open("/dev/null", O_RDWR);
	if (null >= 0) {
		dup2(null, 0);
		dup2(null, 1);
		dup2(null, 2);
		if (null > 2)
			close(null);
	}
}

/* from: a thread that stands still, or NULL. */
static int arm(struct guardian *g, struct client *first, struct thread *from)
{
	int ret = cloning_await(g);

	g->main_held = from;
	if (!ret)
		ret = session_arm(g, first, from, true);
	g->main_held = NULL;
	if (!ret)
		ret = events_begin(g, first);
	if (!ret)
		tell(&first->tell, MSG_READY, first->narmed, "");
	return ret;
}

/* It stands where CMD's first process does at its exec, and is looked at in the same way. */
static int begin_program(struct guardian *g, struct client *first)
{
	struct thread *t = parking_leave(g);

	if (!t)
		return guardian_fail(g, "process %d has gone on by itself", g->pid);
	g->launched = true;
	if (g->release) {
		first->leave = true;
		thread_release(g, t);
		return 0;
	}
	thread_hold(t);
	g->at_exec = t;
	tell(&first->tell, MSG_READY, 0, "seized");
	return 0;
}

/* A session that has failed, or does not come in this time, is not waited for. */
static void parking_share(struct guardian *g, struct thread *t)
{
	double end = now_ms() + SHARED_MS;

	g->parked = g->main_held = t;
	while (g->door >= 0 && clients_count(g) + g->declined < g->expected && now_ms() < end &&
		!t->dead && !target_ended(g) && !clients_leave(g)) {
		guardian_await(g, LISTEN_MS);
		door_answer(g);
	}
	g->parked = g->main_held = NULL;
}

static int begin(struct guardian *g, struct client *first)
{
	struct thread *parked;
	double at = now_ms();
	int ret = control_create(g);

	if (!ret)
		ret = client_create(g, first);
	parking_meet(g);
	if (!ret)
		ret = target_check(g);
	if (!ret)
		ret = target_seize(g);
	if (ret)
		return ret;
	guardian_phase(g, "seize", at);
	parking_find(g);
	if (g->launched) {
		tell(&first->tell, MSG_READY, 0, "seized");
		return 0;
	}
	ret = remote_find_syscall(g);
	if (!ret && g->fresh)
		return begin_program(g, first);
	parked = ret ? NULL : parking_leave(g);
	if (parked && !g->release) /* others come at the same time */
		door_open(g);
	if (!ret && !g->release)
		ret = recover(g);
	if (g->heir || g->release)
		first->leave = true;
	else if (!ret)
		ret = arm(g, first, parked);
	if (!ret && parked && !g->release)
		parking_share(g, parked);
	if (parked)
		thread_release(g, parked);
	return ret;
}

/* Its probes went with the program that they were in. */
static void tell_exec(struct guardian *g)
{
	char text[160], name[32];

	proc_name(g->pid, name, sizeof(name));
	snprintf(text, sizeof(text),
		"process %d has become another program (exec), %s, which is not traced", g->pid,
		name);
	tell_all(g, MSG_WARN, 0, text);
}

static void tell_end(struct guardian *g, int ret)
{
	bool passed_on = program_over(g, !ret && !clients_leave(g));

	if (ret)
		tell_all(g, MSG_FAILED, 0, guardian_why(g));
	else if (passed_on)
		;
	else if (g->execed)
		tell_exec(g);
	else if (g->gone)
		process_over(g);
	if (!ret && target_ended(g))
		tell_all(g, MSG_GONE, 0, "");
}

int guardian_run(struct guardian *g, struct client *first)
{
	int ret;

	g->concerns = &concerns;
	settle_in(g);
	client_add(g, first);
	ret = begin(g, first);
	if (!ret)
		ret = watch(g);
	if (ret && g->taken) {
		if (g->release)
			guardian_decline(g->pid);
		tell_all(g, MSG_TAKEN, (uint32_t)g->taken, g->error);
		return 0;
	}
	tell_end(g, ret);
	while (session_leave(g))
		tell_end(g, watch(g));
	/* The kernel lets all threads go on, undisturbed, as we end. */
	return 0;
}
