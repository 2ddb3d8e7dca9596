/* SPDX-License-Identifier: MIT */
/*
 * A thread that a signal has met in a handler runs on to the handler's end, and stops there: hundreds of single
 * steps would hold it, and all who wait for its locks, for as many times that it and we are given the processor.
 */
#ifndef TRAPLESS_RUNNER_GUARDIAN_MEND_HANDLEREND_H
#define TRAPLESS_RUNNER_GUARDIAN_MEND_HANDLEREND_H

#include "../guardian.h"

bool handler_run(struct guardian *g, struct thread *t);
/* From time to time they are to be looked at; -1: none runs */
int handler_runs_ms(const struct guardian *g);
void handler_runs_check(struct guardian *g);
void handler_run_over(struct thread *t);

#endif
