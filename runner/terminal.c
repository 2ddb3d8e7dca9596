/* SPDX-License-Identifier: MIT */
#define _GNU_SOURCE
#include <termios.h>
#include <unistd.h>

#include "terminal.h"

static struct termios before;
static bool changed;

bool terminal_in_front(void)
{
	return !isatty(STDIN_FILENO) || tcgetpgrp(STDIN_FILENO) == getpgrp();
}

void terminal_take(void)
{
	struct termios now;

	if (changed || tcgetattr(STDIN_FILENO, &before))
		return;
	now = before;
	now.c_lflag &= ~(tcflag_t)(ICANON | ECHO);
	now.c_cc[VMIN] = 1;
	now.c_cc[VTIME] = 0;
	changed = !tcsetattr(STDIN_FILENO, TCSANOW, &now);
}

void terminal_end(void)
{
	if (changed && terminal_in_front())
		tcsetattr(STDIN_FILENO, TCSANOW, &before);
	changed = false;
}
