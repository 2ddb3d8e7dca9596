/* SPDX-License-Identifier: MIT */
/*
 * What system() starts. Where the text is fixed a record of a target only has the
 * number of a command: one that writes such records by itself can start what
 * the script starts anyway, and no more than RUNNING_MAX at once. A text that a
 * handler in a target has made comes as it is, so it is started where the target
 * could start it itself, or where guru mode says that it is trusted.
 */
#define _GNU_SOURCE
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "inherited.h"
#include "base/proc.h"
#include "session.h"

enum { RUNNING_MAX = 64, KEPT_MAX = 256 };

static pid_t running[RUNNING_MAX];
static char *kept[KEPT_MAX]; /* texts that handlers have made here, until their records come by */

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

static void begin(struct session *s, const char *command)
{
	int out = !s->raw ? fileno(s->out) : STDERR_FILENO; /* no text among records */
	pid_t *place = free_place(), pid = place ? fork() : -1;

	if (!pid)
		become(command, out);
	if (pid < 0)
		s->unstarted++;
	else
		*place = pid;
}

/* A record may name what is kept once, whoever wrote it. */
static void begin_kept(struct session *s, char **text)
{
	if (*text)
		begin(s, *text);
	else
		s->damaged++;
	free(*text);
	*text = NULL;
}

void command_start(struct session *s, uint32_t number)
{
	uint32_t fixed = s->mod->ncommands;

	if (number < fixed)
		begin(s, tl_tap_string(s->mod, s->mod->commands[number]));
	else if (number - fixed < KEPT_MAX)
		begin_kept(s, &kept[number - fixed]);
	else
		s->damaged++;
}

int command_keep(struct session *s, const char *text)
{
	uint32_t i;

	for (i = 0; i < KEPT_MAX && kept[i]; i++)
		;
	if (i < KEPT_MAX && s->mod->ncommands + i <= UINT16_MAX)
		kept[i] = strdup(text);
	if (i < KEPT_MAX && kept[i])
		return (int)(s->mod->ncommands + i);
	s->unstarted++;
	return -1;
}

/* Do all ids that stand behind a field say so? */
static bool all_are(const char *status, const char *field, uint64_t id)
{
	const char *at = proc_field(status, field);
	char *end;
	int i;

	for (i = 0; at && i < 4; i++, at = end)
		if (strtoull(at, &end, 10) != id || end == at)
			return false;
	return at;
}

static bool same_link(pid_t pid, const char *name)
{
	char path[64], there[PATH_MAX], here[PATH_MAX];
	ssize_t n, m;

	snprintf(path, sizeof(path), "/proc/%d/%s", pid, name);
	n = readlink(path, there, sizeof(there));
	snprintf(path, sizeof(path), "/proc/self/%s", name);
	m = readlink(path, here, sizeof(here));
	return n > 0 && n == m && !memcmp(there, here, (size_t)n);
}

/* Of one that has gone nobody knows whether it had become another user's. */
bool command_chooser(pid_t pid)
{
	char status[PROC_TEXT];

	if (proc_read_of(pid, "status", status, sizeof(status)) <= 0)
		return geteuid() != 0;
	return all_are(status, "Uid", geteuid()) && all_are(status, "Gid", getegid()) &&
	       !proc_number(status, "Seccomp", 10) &&
	       (proc_ended(pid) || (same_link(pid, "root") && same_link(pid, "ns/mnt") &&
					   same_link(pid, "ns/user") && same_link(pid, "ns/pid")));
}

static bool trusted(struct session *s)
{
	pid_t pid = s->strange && !(s->mod->header->flags & TL_TAP_GURU) ? s->strange() : 0;

	if (pid && !s->untrusted++)
		fprintf(stderr,
			"WARNING: a command that a handler has made is not started: process %d "
			"could "
			"change it, and runs as another user than trapless, or is confined. Next "
			"step: -g, "
			"if you trust it\n",
			pid);
	return !pid;
}

void command_start_text(struct session *s, const char *text, uint32_t n)
{
	char *command;

	if (memchr(text, 0, n)) {
		s->damaged++;
		return;
	}
	if (!trusted(s))
		return;
	command = strndup(text, n);
	if (command)
		begin(s, command);
	else
		s->unstarted++;
	free(command);
}
