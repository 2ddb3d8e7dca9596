/* SPDX-License-Identifier: MIT */
/*
 * What system() starts. A record of a target only has the number of a command;
 * the text is the module's. A target that writes such records by itself can
 * start what the script starts anyway, and no more than RUNNING_MAX at once.
 */
#define _GNU_SOURCE
#include <sys/wait.h>
#include <unistd.h>

#include "inherited.h"
#include "session.h"

enum { RUNNING_MAX = 64 };

static pid_t running[RUNNING_MAX];

static _Noreturn void become(const char *command, int out)
{
	inherited_restore();
	if (dup2(out, STDOUT_FILENO) >= 0)
		execl("/bin/sh", "sh", "-c", command, (char *)NULL);
	_exit(127);
}

void commands_reap(void)
{
	int i;

	for (i = 0; i < RUNNING_MAX; i++) {
		if (running[i] && waitpid(running[i], NULL, WNOHANG))
			running[i] = 0; /* ended, or not ours to wait for */
	}
}

static pid_t *free_place(void)
{
	int i;

	commands_reap();
	for (i = 0; i < RUNNING_MAX; i++) {
		if (!running[i])
			return &running[i];
	}
	return NULL;
}

void command_start(struct session *s, uint32_t number)
{
	int out = s->raw < 0 ? fileno(s->out) : STDERR_FILENO; /* no text among records */
	pid_t *place, pid;

	if (number >= s->mod->ncommands) {
		s->damaged++;
		return;
	}
	place = free_place();
	pid = place ? fork() : -1;
	if (!pid)
		become(module_string(s->mod, s->mod->commands[number]), out);
	if (pid < 0)
		s->unstarted++;
	else
		*place = pid;
}
