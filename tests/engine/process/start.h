/* SPDX-License-Identifier: MIT */
/* How the tests of the engine on the real process begin. */
#ifndef TRAPLESS_TESTS_PROCESS_START_H
#define TRAPLESS_TESTS_PROCESS_START_H

#include <trapless/probe.h>

#include <stdbool.h>
#include <stdio.h>
#include <string.h>

static inline bool has_argument(char **argv, const char *word)
{
	while (*argv && strcmp(*argv, word))
		argv++;
	return *argv;
}

/* False: it has been told why. */
static inline bool engine_started(bool traps_only)
{
	int ret = tl_engine_init();

	if (!ret)
		ret = tl_probes_optimize(!traps_only);
	if (ret)
		printf("not ok init: %s\n", tl_error_text(ret));
	return !ret;
}

#endif
