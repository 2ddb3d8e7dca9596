/* SPDX-License-Identifier: MIT */
#ifndef TRAPLESS_RUNNER_WORDS_H
#define TRAPLESS_RUNNER_WORDS_H

/* A command's words, quotes taken off; NULL: it takes a shell to understand it. One piece of memory, for free(). */
char **words_split(const char *command);

#endif
