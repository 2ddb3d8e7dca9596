/* SPDX-License-Identifier: MIT */
/*
 * Threads that were made without a thread block of their own (clone(2) without CLONE_SETTLS): by the thread pointer
 * they are the thread that made them.
 */
#ifndef TRAPLESS_RUNNER_GUARDIAN_FAMILY_SHARING_H
#define TRAPLESS_RUNNER_GUARDIAN_FAMILY_SHARING_H

#include "../guardian.h"

bool may_share(const struct guardian *g, const struct thread *t); /* a pointer; others cannot */
/* Of thread pointer `at`; 0: none */
uint64_t record_of(struct guardian *g, uint64_t at, uint64_t key);
void sharing_arrive(struct guardian *g); /* before any probe stands */
void sharing_begins(struct guardian *g, struct thread *t);
void sharing_ends(struct guardian *g, struct thread *t);

#endif
