/* SPDX-License-Identifier: MIT */
#ifndef TRAPLESS_RUNNER_OPTIONS_H
#define TRAPLESS_RUNNER_OPTIONS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>
#include <sys/types.h>

enum { TARGETS_MAX = 256 };

struct options {
	const char *module;
	char **words; /* of the program behind `--`, or NULL */
	const char *command, *output, *rotate, *patching, *coverage, *functions;
	const char *monitor, *every, *session_word, *enable, *disable, *optimize;
	pid_t session; /* session_word's; 0: all */
	pid_t pids[TARGETS_MAX];
	int npids;
	int sessions, raw, preload, no_follow, later, traps_only, explain, no_warnings, verbose,
		help, version;
};

/* 0; or -1: a message has been printed. */
int options_parse(struct options *o, int argc, char **argv);
void options_help(FILE *to);
/* Whole seconds, as an argument has them; 0: it has not. */
unsigned options_seconds(const char *word);
/* Is something asked of sessions that run? */
bool options_ask(const struct options *o);

#endif
