/* SPDX-License-Identifier: MIT */
/* What sessions are told of all this; and why something failed. */
#ifndef TRAPLESS_RUNNER_GUARDIAN_TRACE_SAY_H
#define TRAPLESS_RUNNER_GUARDIAN_TRACE_SAY_H

#include "../guardian.h"

int guardian_fail(struct guardian *g, const char *fmt, ...) __attribute__((format(printf, 2, 3)));
/* After a failure: what to tell of it. Threads that end meanwhile go on. */
const char *guardian_why(struct guardian *g);
void guardian_phase(struct guardian *g, const char *name, double since);
bool clients_verbose(const struct guardian *g);
void tell_all(const struct guardian *g, uint32_t kind, uint32_t number, const char *text);
void note_all(const struct guardian *g, const char *fmt, ...) __attribute__((format(printf, 2, 3)));

#endif
