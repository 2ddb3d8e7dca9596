/* SPDX-License-Identifier: MIT */
/*
 * What the injected trap path has to be compared with: a breakpoint that a tracer serves with nothing but the least
 * it needs: wait, read the program counter, write it, go on. Like the guardian it has a session of its own, which the
 * scheduler counts as a group. Prints TSC ticks a call, the lowest of REPETITIONS.
 *
 *     bench/ptrace CALLS REPETITIONS
 */
#define _GNU_SOURCE
#include <signal.h>
#include <stddef.h>
#include <stdlib.h>
#include <sys/ptrace.h>
#include <sys/user.h>
#include <sys/wait.h>
#include <unistd.h>

#include "ticks.h"

__asm__(".text\n" FUNCTION(trapped, "	int3\n"
				    ".globl beyond\n"
				    "beyond:\n" LEA_RET));
long trapped(long a, long b), beyond(long a, long b);

static int traced(int go, long calls, long reps)
{
	char byte;

	if (read(go, &byte, 1) != 1)
		return 1;
	printf("%.2f\n", ticks(trapped, calls, reps));
	fflush(stdout);
	return 0;
}

static int tracer(void)
{
	const size_t pc = offsetof(struct user, regs.rip);
	int status;
	pid_t pid;

	while ((pid = waitpid(-1, &status, __WALL)) > 0 && WIFSTOPPED(status)) {
		if (WSTOPSIG(status) == SIGTRAP &&
			ptrace(PTRACE_PEEKUSER, pid, pc, 0) == (long)(uintptr_t)beyond)
			ptrace(PTRACE_POKEUSER, pid, pc, beyond);
		ptrace(PTRACE_CONT, pid, 0, 0);
	}
	return pid > 0 && WIFEXITED(status) ? WEXITSTATUS(status) : 1;
}

int main(int argc, char **argv)
{
	int go[2];
	pid_t pid;

	if (argc != 3 || pipe(go))
		return 2;
	pid = fork();
	if (!pid)
		_exit(traced(go[0], atol(argv[1]), atol(argv[2])));
	setsid(); /* fails where we lead a group already: then so be it */
	if (pid < 0 || ptrace(PTRACE_SEIZE, pid, 0, 0) || write(go[1], "g", 1) != 1)
		return 1;
	return tracer();
}
