/* SPDX-License-Identifier: MIT */
/*
 * interrupter POINT GUARDIAN COMMAND...: runs trapless-run -x on a process that
 * GUARDIAN traces, and sends it SIGINT just before the POINT-th system call
 * after it has forked a guardian of its own; GUARDIAN not 0: when that one has
 * done its part and rests. Ends as the command does; says `joined` where all
 * of these calls were made before.
 */
#define _GNU_SOURCE
#include <errno.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/ptrace.h>
#include <sys/syscall.h>
#include <sys/user.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

enum { SYSCALL_STOP = SIGTRAP | 0x80 };

static pid_t runner, guardian;
static unsigned long step, fatal;
static bool forked;

static void die(const char *what)
{
	perror(what);
	exit(99);
}

static bool rests(pid_t pid)
{
	char path[64];
	long nr = -1;
	FILE *f;

	snprintf(path, sizeof(path), "/proc/%d/syscall", pid);
	f = fopen(path, "re");
	if (!f)
		die(path);
	if (fscanf(f, "%ld", &nr) != 1)
		nr = -1; /* it runs */
	fclose(f);
	return nr == SYS_poll;
}

static void strike(void)
{
	const struct timespec nap = {0, 1000000};

	while (guardian && !rests(guardian))
		nanosleep(&nap, NULL);
	kill(runner, SIGINT);
	ptrace(PTRACE_DETACH, runner, 0, 0);
}

/* It waits for a while, not for a word: the session runs. */
static bool has_joined(const struct user_regs_struct *r)
{
	return r->orig_rax == SYS_poll && (int)r->rdx > 0;
}

/* Is it the call before which it is to be interrupted? */
static bool is_point(void)
{
	struct user_regs_struct r;

	if (ptrace(PTRACE_GETREGS, runner, 0, &r) || (long)r.rax != -ENOSYS || !forked)
		return false;
	if (has_joined(&r)) {
		dprintf(STDOUT_FILENO, "joined\n");
		return true;
	}
	return ++step == fatal;
}

static void stopped(int status)
{
	int sig = WSTOPSIG(status), event = status >> 16;

	if (sig == SYSCALL_STOP && is_point()) {
		strike();
		return;
	}
	forked |= event == PTRACE_EVENT_FORK;
	ptrace(PTRACE_SYSCALL, runner, 0, sig == SYSCALL_STOP || event ? 0 : (long)sig);
}

int main(int argc, char **argv)
{
	const long options = PTRACE_O_TRACESYSGOOD | PTRACE_O_TRACEFORK;
	int status;
	pid_t pid;

	if (argc < 4)
		return 99;
	fatal = strtoul(argv[1], NULL, 10);
	guardian = (pid_t)atoi(argv[2]);
	runner = fork();
	if (!runner) {
		raise(SIGSTOP);
		execv(argv[3], argv + 3);
		_exit(99);
	}
	if (waitpid(runner, &status, WUNTRACED) != runner ||
		ptrace(PTRACE_SEIZE, runner, 0, options) || kill(runner, SIGCONT))
		die("seize");
	while ((pid = waitpid(-1, &status, __WALL)) > 0) {
		if (WIFSTOPPED(status) && pid == runner)
			stopped(status);
		else if (WIFSTOPPED(status)) /* its children are their own */
			ptrace(PTRACE_DETACH, pid, 0, 0);
		else if (pid == runner)
			return WIFEXITED(status) ? WEXITSTATUS(status) : 98;
	}
	return 99;
}
