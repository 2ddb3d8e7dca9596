/* SPDX-License-Identifier: MIT */
/* A line on the terminal while something takes long; nothing where standard error is none. */
#ifndef TRAPLESS_RUNNER_BASE_PROGRESS_H
#define TRAPLESS_RUNNER_BASE_PROGRESS_H

enum { PROGRESS_FROM_MS = 1000, PROGRESS_MS = 200 };

void progress_show(const char *what, double percent);
void progress_clear(void); /* before anything else is written there */

#endif
