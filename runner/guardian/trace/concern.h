/* SPDX-License-Identifier: MIT */
/*
 * What is done about a thread that stops, or is about to go on. Many subjects want a word in that; the loop knows none
 * of them. It asks those that concerns.c lists, in that order, for each thing that happens.
 */
#ifndef TRAPLESS_RUNNER_GUARDIAN_TRACE_CONCERN_H
#define TRAPLESS_RUNNER_GUARDIAN_TRACE_CONCERN_H

#include <stdbool.h>

struct guardian;
struct thread;

enum verdict {
	PASS, /* the next one is asked */
	GOES, /* that is dealt with, and the thread goes on without a signal */
	STAYS, /* it does not, for now; or it is not there any more */
};

enum claim {
	NOT_MINE,
	MINE,
	MINE_TOO, /* and the next one's perhaps: a step may be one over a hit */
};

enum { CONCERNS = 8 }; /* for one thing that happens, with the NULL behind them */

struct concerns {
	/* One event, while g->arming waits for the helper. */
	void (*while_arming)(struct guardian *g);

	/* --- it is about to go on --- */

	bool (*keeps[CONCERNS])(const struct guardian *g, const struct thread *t); /* it may not */
	bool (*wants_syscalls[CONCERNS])(const struct guardian *g, const struct thread *t);
	/* With *sig, which may be changed; 0: without. true: by a step */
	bool (*on_resume[CONCERNS])(struct guardian *g, struct thread *t, int *sig);
	/* With sig: it is to stop at the first instruction of its handler. */
	bool (*wants_step[CONCERNS])(struct guardian *g, struct thread *t, int sig);
	void (*before_step[CONCERNS])(struct guardian *g, struct thread *t, int sig);

	/* --- it has stopped --- */

	enum verdict (*on_stop[CONCERNS])(struct guardian *g, struct thread *t); /* for anything */
	enum claim (*on_trap[CONCERNS])(struct guardian *g, struct thread *t); /* a SIGTRAP */
	enum verdict (*on_signal[CONCERNS])(struct guardian *g, struct thread *t, int sig);
	enum verdict (*on_helper_signal[CONCERNS])(struct guardian *g, struct thread *t, int sig);
	/* The program is to get *sig, here; 0 then: not here. */
	void (*on_delivery[CONCERNS])(struct guardian *g, struct thread *t, int *sig);
	enum verdict (*on_call[CONCERNS])(struct guardian *g, struct thread *t); /* or behind it */
	void (*on_interrupt[CONCERNS])(struct guardian *g, struct thread *t); /* as we asked for */

	/* --- it begins, becomes another program, ends --- */

	enum verdict (*on_birth[CONCERNS])(struct guardian *g, struct thread *parent, int event);
	void (*on_born[CONCERNS])(struct guardian *g, struct thread *t); /* its first stop */
	void (*on_vfork_done[CONCERNS])(struct guardian *g, struct thread *parent);
	void (*on_exec[CONCERNS])(struct guardian *g, struct thread *t);
	/* its memory is still there */
	void (*on_exit[CONCERNS])(struct guardian *g, struct thread *t);
	void (*on_over[CONCERNS])(struct guardian *g, struct thread *t); /* it has ended */
	void (*on_dead[CONCERNS])(struct guardian *g, struct thread *t); /* ... and is marked so */
	void (*on_drop[CONCERNS])(struct guardian *g, struct thread *t); /* it will be forgotten */
};

#endif
