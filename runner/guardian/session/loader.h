/* SPDX-License-Identifier: MIT */
/* The target's dynamic loader: where it leaves the program to itself, and where it tells of its list. */
#ifndef TRAPLESS_RUNNER_GUARDIAN_SESSION_LOADER_H
#define TRAPLESS_RUNNER_GUARDIAN_SESSION_LOADER_H

#include "../guardian.h"

uint64_t program_entry(struct guardian *g);
uint64_t loader_state(struct guardian *g);
/* What is mapped stays so from here on, as far as it depends on the loader: it rests, or is held before its work. */
void loader_rests(struct guardian *g);
void loader_go(struct guardian *g); /* whom nobody is going to look at */
uint32_t loader_tid_offset(void);
bool loader_audited(struct guardian *g); /* at its exec */

#endif
