/* SPDX-License-Identifier: MIT */
/* Processes of the script's programs that start while the session runs. */
#ifndef TRAPLESS_RUNNER_LATER_H
#define TRAPLESS_RUNNER_LATER_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

struct options;
struct session;
struct target;

/* Those that are targets by now are known. */
void later_start(const struct session *s, const struct target *targets, int n, bool verbose);
/* Where the kernel tells of programs that start; -1: it does not, they are sought. */
int later_fd(void);
/*
 * Look, then hear the guardians, then take: who has a guardian of ours is
 * told of by it before it is let go of.
 */
void later_look(const struct target *targets, int n);
void later_take(struct target *targets, int *ntargets, struct session *s, const struct options *o);
/* One that was just starting, or stopped, may be traced when it is looked at again. true: it will be, once. */
bool later_again(pid_t pid);
/* One cannot be traced. true: the first of them, which is told. */
bool later_refused(void);
/* The first process of a program that was waited for. */
void later_ready(const struct target *t);

struct later_counts {
	uint64_t ended; /* before they were traced */
	uint64_t refused;
};
struct later_counts *later_counts(void);

#endif
