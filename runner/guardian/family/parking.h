/* SPDX-License-Identifier: MIT */
/*
 * A process passes from one guardian to another: the first lets it run into a page of ours, where it sleeps, all
 * its signals blocked, until the second has seized it and puts its registers back.
 */
#ifndef TRAPLESS_RUNNER_GUARDIAN_FAMILY_PARKING_H
#define TRAPLESS_RUNNER_GUARDIAN_FAMILY_PARKING_H

#include "../guardian.h"

bool children_followed(const struct guardian *g); /* some session wants that */

/* T is stopped, all its signals blocked, and goes there once it is let go of. 0: it cannot. */
uint64_t parking_enter(
	struct guardian *g, struct thread *t, const struct machine_regs *regs, uint64_t mask);
/* It is nobody's by now. */
void parking_tell(const struct guardian *g, enum message_kind kind, pid_t pid, uint64_t at);
/* It stands at its exec. true: it is ours no more. */
bool program_hand_over(struct guardian *g, struct thread *t);
/* Held, where it came from; NULL: it has gone on by itself, or has ended. */
struct thread *parking_leave(struct guardian *g);
/* Before the target is taken: it may be on its way from another guardian. */
void parking_meet(struct guardian *g);
void parking_find(struct guardian *g); /* once it is, where we were not told of it */

#endif
