/* SPDX-License-Identifier: MIT */
/*
 * Asking a running session for its probes, and switching them. A session has
 * a directory of its own, $XDG_RUNTIME_DIR/trapless/PID or, without that,
 * /tmp/trapless-UID/PID, which only its owner may enter; `control` in it is a
 * datagram socket, which is there once its probes are armed. A request comes with one end of a socket pair, over which
 * the answer goes back as a file in memory: a client that does not read keeps
 * nobody waiting.
 */
#ifndef TRAPLESS_RUNNER_CONTROL_H
#define TRAPLESS_RUNNER_CONTROL_H

#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>
#include <sys/types.h>
#include <sys/un.h>

#include "../options.h"
#include "../session.h"
#include "../target.h"

enum request_kind { REQUEST_LIST = 1, REQUEST_ENABLE, REQUEST_DISABLE, REQUEST_OPTIMIZE };

struct request {
	uint32_t kind; /* enum request_kind */
	bool on; /* REQUEST_OPTIMIZE */
	char pattern[500]; /* of probe points, aliases or functions, or a probe's number */
};

/* With the answer's file; its text is to be printed. */
struct reply {
	bool failed;
};

/* place.c: the directories of sessions. */
struct place {
	char dir[92]; /* PID's own */
	struct sockaddr_un socket;
};
int place_make(struct place *p, char *why, size_t room); /* ours. 0, or -1 with why */
void place_drop(const struct place *p);
/* Of every session that we may ask; stops when fn returns nonzero, and returns that. */
int places_each(int (*fn)(void *arg, const struct place *p, pid_t pid), void *arg);

/* serve.c: in the runner. */
struct control {
	struct place place;
	bool announced; /* the place is there */
	int fd; /* poll it; -1: nobody can ask us */
	int client; /* whose request is being carried out; -1: none */
	struct request request;
	char changed[640]; /* what it did, before the listing says more */
	const struct options *opt;
	struct session *session;
	struct target *targets;
	const int *ntargets;
	double since; /* now_ms() */
};
/* The session is seen from now on; it does not answer yet. */
void control_announce(struct control *c);
void control_start(struct control *c); /* the rest is filled in */
void control_serve(struct control *c, bool asked); /* asked: a request has come */
void control_end(struct control *c);
struct switched {
	uint32_t switched, fixed; /* probes; those that cannot be */
};
/* Those that are chosen, for the user; the targets are to be told, by target_tune(). */
struct switched control_switch(struct control *c, const char *pattern, bool off);

/* list.c */
bool probe_is_chosen(const struct tl_tap *mod, uint32_t i, const char *pattern);
void list_session(const struct control *c, FILE *to);
void list_head(const struct control *c, FILE *to); /* its first lines */
/* A line each, without its places. */
void list_titles_short(FILE *to);
void list_probe_short(const struct control *c, uint32_t i, FILE *to);
void list_refused(const struct control *c, FILE *to);

/* ask.c: the other side. The exit status. */
int control_ask(const struct options *o);

#endif
