/* SPDX-License-Identifier: MIT */
/* How running code may be changed: what the user says, or a test of this machine. */
#ifndef TRAPLESS_RUNNER_PATCHING_H
#define TRAPLESS_RUNNER_PATCHING_H

#include <stdbool.h>
#include <stdint.h>

/* `how`: the user's word, or NULL. Starts the test, which runs beside whatever comes next. -1: no such word; told. */
int patching_start(const char *how);
/* Waits for the test, a millisecond or two; its threads are gone then. */
void patching_end(bool verbose);
uint32_t patching_chosen(void); /* enum tl_patching */

#endif
