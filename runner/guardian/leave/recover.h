/* SPDX-License-Identifier: MIT */
/* What a dead session left behind. */
#ifndef TRAPLESS_RUNNER_GUARDIAN_LEAVE_RECOVER_H
#define TRAPLESS_RUNNER_GUARDIAN_LEAVE_RECOVER_H

#include "../guardian.h"

int recover(struct guardian *g);

#endif
