/* SPDX-License-Identifier: MIT */
#define _GNU_SOURCE
#include <stdbool.h>
#include <stdio.h>
#include <unistd.h>

#include "progress.h"

static bool shown;

void progress_show(const char *what, double percent)
{
	if (!isatty(STDERR_FILENO))
		return;
	shown = true;
	fprintf(stderr, "\r%s ... %.0f %%", what, percent);
	fflush(stderr);
}

void progress_clear(void)
{
	if (shown)
		fprintf(stderr, "\r\033[K"), fflush(stderr);
	shown = false;
}
