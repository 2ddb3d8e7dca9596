/* SPDX-License-Identifier: MIT */
/* A terminal's whole screen: a status above, what is printed below, and a line for keys. */
#ifndef TRAPLESS_RUNNER_SCREEN_H
#define TRAPLESS_RUNNER_SCREEN_H

#include <stdbool.h>
#include <stdio.h>

/*
 * From now on, until screen_end(), what is written to *out is kept and shown below; `keys`: the keyboard is ours.
 * false: standard output is no terminal, nothing has changed.
 */
bool screen_start(FILE **out, bool keys);
/* The terminal as it was; what was kept is printed there. */
void screen_end(FILE **out);
/* `first`: so many lines of the status are left out; NULL: none is shown. Not while we are in the background. */
void screen_draw(const char *status, int first, const char *last_line);
int screen_fd(void); /* poll it; -1: no keys */
int screen_key(void); /* -1: none has been typed */

enum { KEY_UP = 256, KEY_DOWN };

#endif
