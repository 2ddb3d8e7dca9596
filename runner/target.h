/* SPDX-License-Identifier: MIT */
/* A traced process as the runner sees it: its guardian at the other end of a socket. */
#ifndef TRAPLESS_RUNNER_TARGET_H
#define TRAPLESS_RUNNER_TARGET_H

#include <stdbool.h>
#include <sys/types.h>

#include "message.h"
#include "options.h"
#include "session.h"

struct target {
	struct session *session;
	pid_t pid, guardian;
	int sock;
	bool launched, ready, ended, done, failed;
	uint32_t armed;
	uint32_t kept;
	struct message counts;
	bool counted;
	struct standing *standing; /* shared with the guardian: as of its latest MSG_TUNED */
	int standing_fd;
	bool leaving; /* nobody is joined any more */
	bool joined; /* the guardian is another session's */
	char taken[256]; /* the target is, by whom */
	unsigned tries; /* to join, or to find nobody there */
	bool tuning; /* asked for that, no answer yet */
	char why_not[256];
	bool strange; /* it may not choose commands: commands.c */
	bool heir; /* its guardian was killed, and this one only cleans up */
};

/* Fork a guardian for the process. 0, or -1 with a message printed. */
int target_attach(struct target *t, pid_t pid, struct session *s, const struct options *o);
/* Start CMD, held back until target_go(). */
int target_launch(struct target *t, struct session *s, const struct options *o);
void target_go(struct target *t);
bool target_never_started(void); /* CMD: it could not be, and has said so */
/* Take the messages that have come; block: wait for at least one. false: the guardian is gone. */
bool target_hear(struct target *t, const struct options *o, bool block);
void target_tune(struct target *t);
void target_sample(struct target *t, uint32_t probe);
void target_leave(struct target *t);

#endif
