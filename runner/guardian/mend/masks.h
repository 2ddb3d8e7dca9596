/* SPDX-License-Identifier: MIT */
/*
 * Which signals each thread blocks, as far as a forced signal would lose it (trapmend.c): the kernel tells it of a
 * stopped thread, but behind a breakpoint without the signal that the breakpoint has forced.
 */
#ifndef TRAPLESS_RUNNER_GUARDIAN_MEND_MASKS_H
#define TRAPLESS_RUNNER_GUARDIAN_MEND_MASKS_H

#include "../guardian.h"

static inline uint64_t signal_bit(int sig)
{
	return 1ull << (sig - 1);
}
uint64_t signals_of_insns(void); /* that instructions cause */
void mask_learn(struct thread *t, uint64_t mask);
void masks_learn(struct guardian *g);
bool mask_has_trap(uint64_t mask);
bool mask_had(struct thread *t, uint64_t mask, int sig);
bool mask_is_followed(const struct guardian *g, const struct thread *t);
void mask_coming(struct guardian *g, struct thread *t, const struct machine_regs *regs);
bool mask_changes_by(struct guardian *g, struct thread *t, int sig);
void mask_look(struct thread *t); /* as it is now, which is all of it where nothing was forced */
enum verdict mask_at_call(struct guardian *g, struct thread *t);

#endif
