/* SPDX-License-Identifier: MIT */
/* Signals as we were started with: as the program that we start is to find them. */
#ifndef TRAPLESS_RUNNER_INHERITED_H
#define TRAPLESS_RUNNER_INHERITED_H

#include <stdbool.h>

void inherited_note(
	void); /* before anything changes them: glibc does, too, with the first thread */
bool inherited_ignores(int sig);
void inherited_restore(void);

#endif
