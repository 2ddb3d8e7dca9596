/* SPDX-License-Identifier: MIT */
/*
 * killer N first|second COMMAND ...
 *
 * Runs the command, and kills it before its Nth system call; second: the first process that it starts, before that one's Nth.
 * Returns when all of them are gone: 0: killed; 3: there is no Nth.
 */
#define _GNU_SOURCE
#include <errno.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ptrace.h>
#include <sys/wait.h>
#include <unistd.h>

enum { NOT_SO_FAR = 3 };

struct hunt {
	pid_t first, victim;
	bool second;
	long left; /* system calls */
	bool killed;
};

static void start(char **argv)
{
	ptrace(PTRACE_TRACEME, 0, NULL, NULL);
	raise(SIGSTOP);
	execvp(*argv, argv);
	perror(*argv);
	_exit(127);
}

static void at_call(struct hunt *h, pid_t pid)
{
	struct __ptrace_syscall_info info = {0};

	if (pid != h->victim)
		return;
	ptrace(PTRACE_GET_SYSCALL_INFO, pid, sizeof(info), &info);
	if (info.op != PTRACE_SYSCALL_INFO_ENTRY || --h->left)
		return;
	kill(pid, SIGKILL);
	h->killed = true;
}

static void at_fork(struct hunt *h, pid_t pid)
{
	unsigned long child = 0;

	if (!h->second || h->victim || pid != h->first)
		return;
	ptrace(PTRACE_GETEVENTMSG, pid, NULL, &child);
	h->victim = (pid_t)child;
}

/* The signal to go on with. */
static long stopped(struct hunt *h, pid_t pid, int status)
{
	int sig = WSTOPSIG(status);

	if (sig == (SIGTRAP | 0x80))
		at_call(h, pid);
	else if (status >> 8 == (SIGTRAP | PTRACE_EVENT_FORK << 8))
		at_fork(h, pid);
	else if (sig != SIGSTOP &&
		 sig != SIGTRAP) /* of a thread or process that begins, or of its events */
		return sig;
	return 0;
}

static void follow(struct hunt *h)
{
	int status;
	pid_t pid;

	while ((pid = waitpid(-1, &status, __WALL)) > 0 || errno == EINTR)
		if (pid > 0 && WIFSTOPPED(status))
			ptrace(PTRACE_SYSCALL, pid, NULL, stopped(h, pid, status));
}

int main(int argc, char **argv)
{
	struct hunt h = {0};
	int status;

	if (argc < 4)
		return 2;
	h.left = atol(argv[1]);
	h.second = !strcmp(argv[2], "second");
	h.first = fork();
	if (!h.first)
		start(argv + 3);
	if (h.first < 0 || waitpid(h.first, &status, 0) != h.first || !WIFSTOPPED(status))
		return 1;
	if (!h.second)
		h.victim = h.first;
	ptrace(PTRACE_SETOPTIONS, h.first, NULL,
		PTRACE_O_TRACESYSGOOD | PTRACE_O_TRACEFORK | PTRACE_O_TRACEVFORK |
			PTRACE_O_TRACECLONE);
	ptrace(PTRACE_SYSCALL, h.first, NULL, NULL);
	follow(&h);
	return h.killed ? 0 : NOT_SO_FAR;
}
