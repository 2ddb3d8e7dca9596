/* SPDX-License-Identifier: MIT */
/* A traced process as the runner sees it, whichever way it is reached. */
#ifndef TRAPLESS_RUNNER_TARGET_H
#define TRAPLESS_RUNNER_TARGET_H

#include <stdbool.h>
#include <sys/types.h>

#include "base/message.h"
#include "options.h"
#include "session.h"
#include "transport/transport.h"

/* A process that waits for a guardian, in a page of ours. */
struct parked {
	pid_t pid, from; /* the guardian that has brought it there */
	uint64_t at;
	bool fresh, lasts; /* as below */
};

struct target {
	struct session *session;
	const struct transport *by;
	pid_t pid;
	bool launched, ready, ended, done, failed;
	uint32_t armed;
	uint32_t kept;
	struct message counts;
	bool counted;
	struct standing *standing; /* shared with the guardian: as of its latest MSG_TUNED */
	int standing_fd;
	bool leaving; /* nobody is joined any more */
	bool tuning; /* asked for that, no answer yet */
	char why_not[256];
	bool strange; /* it may not choose commands: commands.c */
	bool followed; /* a child that another target has made */
	bool retired; /* ... and nothing of it is left to be told */
	bool fresh; /* ... or the program that a process has become */
	bool lasts; /* the session lasts as long as it does, for all that */
	bool quiet; /* what is to be told of its probes has been told of another one */
	const char *found; /* it has started later, the program's path; it is `followed`, too */
	bool refused; /* that one cannot be traced */
	pid_t from; /* of a child: its parent's guardian */
	uint64_t parking; /* where it waits */

	/* The transport's, which also sets `done` and `failed` where the other end is gone. */
	int sock; /* to the other end */
	pid_t guardian; /* the process there: ours, or the one that we have joined; 0: none */
	/* Of the guardian's alone. */
	bool joined; /* the guardian is another session's */
	bool heir; /* its guardian was killed, and this one only cleans up */
	char taken[256]; /* the target is, by whom */
	unsigned tries; /* to join, or to find nobody there */
};

/* 0, or -1 with a message printed. What comes of it is heard. */
int target_attach(struct target *t, pid_t pid, struct session *s, const struct options *o);
/* Somebody at the other end for t->pid, for the first time or once more. */
int target_reach(struct target *t, const struct options *o);
const struct transport *transport_of(const struct session *s, const struct options *o);
/* launch.c: start CMD, held back until target_go(). */
int target_launch(struct target *t, struct session *s, const struct options *o);
void target_go(struct target *t);
bool target_never_started(void); /* CMD: it could not be, and has said so */
/* ... for one that waits; quiet where that fails. */
int target_follow(
	struct target *t, const struct parked *p, struct session *s, const struct options *o);
/* ... for one that has started later. */
int target_find(struct target *t, pid_t pid, const char *path, bool quiet, struct session *s,
	const struct options *o);
/* It goes on, untraced. */
void target_release(const struct parked *p, struct session *s, const struct options *o);
/* Take the messages that have come; block: wait for at least one. false: the guardian is gone. */
bool target_hear(struct target *t, const struct options *o, bool block);
void target_tune(struct target *t);
void target_sample(struct target *t, uint32_t probe);
void target_leave(struct target *t);

#endif
