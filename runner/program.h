/* SPDX-License-Identifier: MIT */
/* The program that -c starts, before it is started. */
#ifndef TRAPLESS_RUNNER_PROGRAM_H
#define TRAPLESS_RUNNER_PROGRAM_H

#include <stdbool.h>
#include <stddef.h>

#include "options.h"

/* Its file, as execvp() finds it; the shell's where it takes one. */
bool program_of(const struct options *o, char *buf, size_t room);
/* Of another word size or machine. Not so where it is none: the exec will tell. */
bool program_is_foreign(const char *path);
/* setuid, setgid or file capabilities: the kernel would give it other rights than ours. */
bool program_gains_rights(const char *path);

#endif
