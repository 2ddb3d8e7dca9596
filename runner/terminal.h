/* SPDX-License-Identifier: MIT */
/* The terminal that is our standard input. */
#ifndef TRAPLESS_RUNNER_TERMINAL_H
#define TRAPLESS_RUNNER_TERMINAL_H

#include <stdbool.h>

/* Of those in the background the kernel stops who reads. Also true where there is no terminal. */
bool terminal_in_front(void);
/* No more lines are edited, and nothing is shown: bytes come as they are typed. Until terminal_end(). */
void terminal_take(void);
void terminal_end(void);

#endif
