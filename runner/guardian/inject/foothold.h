/* SPDX-License-Identifier: MIT */
/*
 * How a thread that makes a call for us finds its way when we are killed meanwhile: behind the call it returns, by
 * words that lie ready below its stack, to another call that puts all back as it was (rt_sigreturn), or, in the
 * helper, ends it (exit). What a thread that makes calls for us finds when we are killed.
 */
#ifndef TRAPLESS_RUNNER_GUARDIAN_INJECT_FOOTHOLD_H
#define TRAPLESS_RUNNER_GUARDIAN_INJECT_FOOTHOLD_H

#include "../guardian.h"

enum { FOOTHOLD_WORDS = 128, FOOTHOLD_FLOAT = 512, FOOTHOLD_SIZE = 3456 };
struct foothold {
	uint64_t at; /* below t's red zone; 0: there is none */
	uint64_t sp, helper_sp; /* t's own, and of the helper that it makes */
	uint8_t kept[FOOTHOLD_SIZE], put[FOOTHOLD_SIZE];
};

/* T is to be as `home` says, with that mask. It stands there now, and its calls do. false: no way is known. */
bool foothold_lay(struct guardian *g, struct thread *t, const struct machine_regs *home,
	uint64_t mask, struct foothold *f);
void foothold_lift(struct guardian *g, struct thread *t, struct foothold *f);
/* The helper's own, in memory of ours. */
void foothold_of_helper(struct guardian *g, struct thread *t, uint64_t at);

#endif
