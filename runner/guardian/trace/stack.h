/* SPDX-License-Identifier: MIT */
/*
 * A thread's stacks, read as words: to the end of the mapping that they lie in. Stacks of one thread: the one it is
 * on, and those that signal handlers interrupted.
 */
#ifndef TRAPLESS_RUNNER_GUARDIAN_TRACE_STACK_H
#define TRAPLESS_RUNNER_GUARDIAN_TRACE_STACK_H

#include "../guardian.h"

struct stacks {
	uint64_t sp[8], end[8];
	unsigned n;
};
/* The one it is on. false: it lies nowhere. */
bool stacks_begin(struct guardian *g, struct stacks *s, const struct thread *t, uint64_t sp);
void stacks_add(struct guardian *g, struct stacks *s, const struct thread *t, uint64_t sp);

/* The words of the i-th, n at `at` at a time. */
void stacks_words(struct guardian *g, const struct stacks *s, unsigned i, const struct thread *t,
	void (*fn)(void *arg, uint64_t at, const uint64_t *words, size_t n), void *arg);
/* A thread of Go's runtime stands still: from now on the end of its stack is known in its sleep, too. */
void stack_learn(struct guardian *g, struct thread *t, const struct machine_regs *regs);
/* ... until then it has to stand still: nothing but the whole heap would be its stack. */
bool stack_is_known(const struct guardian *g, const struct thread *t);

#endif
