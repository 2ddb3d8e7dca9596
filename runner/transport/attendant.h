/* SPDX-License-Identifier: MIT */
#ifndef TRAPLESS_RUNNER_ATTENDANT_H
#define TRAPLESS_RUNNER_ATTENDANT_H

/* This process is an attendant from now on: in a session of its own, and no terminal's signal ends it. */
void attendant_begin(void);

#endif
