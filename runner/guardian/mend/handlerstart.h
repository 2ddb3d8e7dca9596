/* SPDX-License-Identifier: MIT */
/* A thread that was stepped into a signal's handler stands at its first instruction. */
#ifndef TRAPLESS_RUNNER_GUARDIAN_MEND_HANDLERSTART_H
#define TRAPLESS_RUNNER_GUARDIAN_MEND_HANDLERSTART_H

#include "../guardian.h"

enum claim handler_start_at_trap(struct guardian *g, struct thread *t);

#endif
