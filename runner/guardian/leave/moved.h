/* SPDX-License-Identifier: MIT */
/* Text that the program has moved elsewhere (mremap), our patches with it. */
#ifndef TRAPLESS_RUNNER_GUARDIAN_LEAVE_MOVED_H
#define TRAPLESS_RUNNER_GUARDIAN_LEAVE_MOVED_H

#include "../guardian.h"

int moved_restore(struct guardian *g, pid_t pid, int mem);
void moved_mend(struct guardian *g);

#endif
