/* SPDX-License-Identifier: MIT */
/*
 * How the runner reaches a target. At the other end somebody does what the
 * messages of base/message.h ask, and tells what has come of it: a guardian,
 * which ptraces the process (guardian.c), or an attendant: of an agent that the
 * program loads itself (preload.c), of this kernel (kernel.c).
 *
 * A target is attached, and then heard: MSG_READY when its probes are armed,
 * MSG_FAILED when they never will be, MSG_GONE when it has ended, MSG_DONE as
 * the last word. It is told MSG_TUNE, MSG_SAMPLE and MSG_LEAVE, and answered
 * by MSG_GO_ON and MSG_CHILD.
 *
 * The runner has one thread, which must not stand still: nothing here waits
 * for a target but where it says so.
 */
#ifndef TRAPLESS_RUNNER_TRANSPORT_H
#define TRAPLESS_RUNNER_TRANSPORT_H

#include <stdbool.h>

#include "../base/message.h"

struct options;
struct session;
struct target;

enum word {
	WORD_NONE, /* nothing yet */
	WORD_CAME,
	WORD_END, /* nobody is there any more */
};

struct transport {
	/*
	 * Of a program that we start, before it is forked: can it be a target,
	 * and what does it need? 0, or -1 with a message printed.
	 */
	int (*prepare)(struct session *s, const struct options *o);
	/* ... and in its own process, just before its exec. 0, or -1 with errno. NULL: nothing is to be done. */
	int (*enter)(void);
	/*
	 * Have somebody at the other end for process t->pid, whose words make
	 * t->sock readable. 0, or -1 with a message printed.
	 */
	int (*attach)(struct target *t, const struct options *o);
	/*
	 * The next word, into m; block: wait for it. A signal ends the wait with
	 * WORD_NONE. Where the other end is gone before MSG_DONE, this finds
	 * another one, or sets t->failed and tells the user what becomes of the
	 * probes.
	 */
	enum word (*hear)(struct target *t, const struct options *o, struct message *m, bool block);
	/* wait: until it can be taken. false: it is not taken. */
	bool (*say)(const struct target *t, const struct message *m, bool wait);
};

extern const struct transport guardian_transport, preload_transport, kernel_transport;

#endif
