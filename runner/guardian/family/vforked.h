/* SPDX-License-Identifier: MIT */
/* A vfork child has its parent's thread pointer, and so its record, which goes on being the parent's. */
#ifndef TRAPLESS_RUNNER_GUARDIAN_FAMILY_VFORKED_H
#define TRAPLESS_RUNNER_GUARDIAN_FAMILY_VFORKED_H

#include "../guardian.h"

const struct thread *record_owner(struct guardian *g, const struct thread *t); /* or t itself */
/* It shares the memory, and has not run yet */
void vfork_begins(struct guardian *g, struct thread *t);
void vfork_done(struct guardian *g, struct thread *parent); /* which has not gone on yet */

#endif
