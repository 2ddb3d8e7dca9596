/* SPDX-License-Identifier: MIT */
/* What lies where, of ours in the target. */
#ifndef TRAPLESS_RUNNER_GUARDIAN_TRACE_OURS_H
#define TRAPLESS_RUNNER_GUARDIAN_TRACE_OURS_H

#include "../guardian.h"

bool in_our_memory(struct guardian *g, uint64_t addr);
bool in_handler(const struct guardian *g, uint64_t pc); /* or the agent, not in a detour */
/* Where the agent has the copy of an instruction, or the instruction of a copy; 0: of neither. */
uint64_t text_place(struct guardian *g, uint64_t addr);
/* Behind a copy in a detour: its instruction; else addr */
uint64_t text_before(struct guardian *g, uint64_t addr);

#endif
