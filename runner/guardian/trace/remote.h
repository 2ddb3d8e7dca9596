/* SPDX-License-Identifier: MIT */
/* Registers, memory and system calls of a stopped thread. */
#ifndef TRAPLESS_RUNNER_GUARDIAN_TRACE_REMOTE_H
#define TRAPLESS_RUNNER_GUARDIAN_TRACE_REMOTE_H

#include "../guardian.h"

int remote_find_syscall(struct guardian *g);
uint64_t syscall_of(struct guardian *g, pid_t pid);
long remote_call(struct guardian *g, struct thread *t, long nr, uint64_t a, uint64_t b, uint64_t c,
	uint64_t d, uint64_t e, uint64_t f);
/* What to do where one of its limits made a call fail: for the end of a message, or "" */
const char *limit_next(long error);
size_t target_read(struct guardian *g, pid_t pid, uint64_t addr, void *buf, size_t len);

/* What the machine's functions are given: memory of one process. */
struct target_memory {
	struct machine_memory memory;
	struct guardian *g;
	pid_t pid;
};
struct target_memory target_memory(struct guardian *g, pid_t pid);
enum { WORDS_MAX = 1024 }; /* what the kernel reads at once */
/* From n places of the target, WORDS_MAX at most. How many: up to the first that cannot be read so. */
size_t target_read_words(struct guardian *g, const uint64_t *at, uint64_t *words, size_t n);
int target_write(struct guardian *g, pid_t pid, uint64_t addr, const void *buf, size_t len);
/* Also where it is read-only */
int text_write(int mem, uint64_t addr, const void *buf, size_t len);
void helper_park(struct guardian *g, struct thread *t);
int mask_get(pid_t tid, uint64_t *mask);
int mask_set(pid_t tid, uint64_t mask);

#endif
