/* SPDX-License-Identifier: MIT */
#ifndef TRAPLESS_RUNNER_PROCFS_H
#define TRAPLESS_RUNNER_PROCFS_H

#include "session.h"

/* The files of the script, in a folder of their own under `dir`. 0, or -1 with errno. */
int procfs_start(struct session *s, const char *dir);
void procfs_end(void);
void procfs_serve(struct session *s); /* those who wait; again and again */
void procfs_take_rest(struct session *s); /* what had been written as the session was told to end */

#endif
