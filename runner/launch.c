/* SPDX-License-Identifier: MIT */
/* CMD: forked, held back until the session has begun, then executed. */
#define _GNU_SOURCE
#include <errno.h>
#include <limits.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <unistd.h>

#include "inherited.h"
#include "program.h"
#include "target.h"
#include "words.h"

/* To CMD until it is one: it waits for a byte, and sends one where it cannot be started. */
static int go = -1;

static void not_started(int sock, int status)
{
	send(sock, "", 1, MSG_NOSIGNAL);
	_exit(status);
}

/* A script without `#!` is the shell's, as shells and POSIX's execvp() have it; not every C library's does. */
static void be_shell_script(const struct options *o, char **argv)
{
	char path[PATH_MAX], **words;
	size_t n = 0;

	while (argv[n])
		n++;
	words = calloc(n + 2, sizeof(*words));
	if (!words || !program_of(o, path, sizeof(path)))
		return;
	words[0] = (char *)"sh";
	words[1] = path;
	memcpy(words + 2, argv + 1, n * sizeof(*words));
	execv("/bin/sh", words);
}

static void be_command(const struct transport *by, const struct options *o, int sock)
{
	char **argv = o->words ? o->words : words_split(o->command), byte;

	prctl(PR_SET_PTRACER, PR_SET_PTRACER_ANY, 0, 0,
		0); /* until the exec: lets the guardian in under Yama */
	if (read(sock, &byte, 1) != 1)
		_exit(127); /* the session failed before it began */
	inherited_restore();
	if (by->enter && by->enter()) {
		fprintf(stderr, "trapless-run: cannot hand the agent over: %s\n", strerror(errno));
		not_started(sock, 126);
	}
	if (argv) {
		execvp(argv[0], argv);
		if (errno == ENOEXEC)
			be_shell_script(o, argv);
		fprintf(stderr, "trapless-run: cannot start %s: %s\n", argv[0], strerror(errno));
	} else {
		execl("/bin/sh", "sh", "-c", o->command, (char *)NULL);
		fprintf(stderr, "trapless-run: cannot start /bin/sh: %s\n", strerror(errno));
	}
	not_started(sock, errno == ENOENT ? 127 : 126);
}

int target_launch(struct target *t, struct session *s, const struct options *o)
{
	int pair[2];

	memset(t, 0, sizeof(*t));
	t->session = s;
	t->launched = true;
	t->by = transport_of(s, o);
	if (t->by->prepare(s, o))
		return -1;
	if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, pair)) {
		fprintf(stderr, "trapless-run: %s\n", strerror(errno));
		return -1;
	}
	fflush(NULL);
	t->pid = fork();
	if (t->pid < 0) {
		fprintf(stderr, "trapless-run: cannot start the program: %s\n", strerror(errno));
		return -1;
	}
	if (!t->pid) {
		close(pair[0]);
		be_command(t->by, o, pair[1]);
	}
	close(pair[1]);
	go = pair[0];
	return target_reach(t, o);
}

void target_go(struct target *t)
{
	(void)t;
	if (send(go, "g", 1, MSG_NOSIGNAL) != 1)
		fprintf(stderr, "trapless-run: the program did not start\n");
}

bool target_never_started(void)
{
	char byte;

	return go >= 0 && recv(go, &byte, 1, MSG_DONTWAIT) == 1;
}
