/* SPDX-License-Identifier: MIT */
/* A target that is a debugger itself. */
#ifndef TRAPLESS_RUNNER_GUARDIAN_FAMILY_TRACEME_H
#define TRAPLESS_RUNNER_GUARDIAN_FAMILY_TRACEME_H

#include "../guardian.h"

bool is_debugger(struct guardian *g);
void traceme_program(struct thread *t);
void traceme_born(struct guardian *g, struct thread *t);
void gate_set(struct guardian *g, uint32_t open); /* 0: handlers are silent */
void traceme_serve(struct guardian *g); /* those that wait: while no text changes */
void traceme_over(struct guardian *g, pid_t child);
void traceme_settle(struct guardian *g); /* before text changes: who was let go of has left it */

bool traceme_keeps(const struct guardian *g, const struct thread *t);
enum verdict traceme_at_stop(struct guardian *g, struct thread *t);
enum verdict traceme_at_call(struct guardian *g, struct thread *t);
void traceme_at_vfork_done(struct guardian *g, struct thread *parent);

#endif
