/* SPDX-License-Identifier: MIT */
#ifndef TRAPLESS_RUNNER_INPUT_H
#define TRAPLESS_RUNNER_INPUT_H

#include "base/module.h"
#include "session.h"

/* Is this one of the standard input, procfs("__stdin").write? */
bool input_is(const struct tl_tap *m, uint32_t probe);

/* The terminal is ours until input_end(), where single bytes are wanted. 0, or -1: no memory. */
int input_start(struct session *s);
void input_end(void);
int input_fd(void); /* to wait for; -1: nothing more comes, or not now */
void input_serve(struct session *s); /* what is there */

#endif
