/* SPDX-License-Identifier: MIT */
/*
 * --monitor: how the session stands, shown anew every so often. On a terminal with the script's output below, and keys
 * that switch probes; elsewhere on standard error.
 */
#ifndef TRAPLESS_RUNNER_MONITOR_H
#define TRAPLESS_RUNNER_MONITOR_H

#include "control.h"

void monitor_start(struct control *c); /* which lives until monitor_end() */
void monitor_end(void);
int monitor_fd(void); /* poll it; -1: no keys */
/* What is due, and what was typed. busy: the targets still carry out something. false: the session is to end. */
bool monitor_serve(bool busy);

#endif
