/* SPDX-License-Identifier: MIT */
/*
 * Calls work(), and starts itself with one less in the other way each time, by
 * fork and exec where N is even, else by posix_spawn; 5 becomes 2 at its end.
 * Status 5 where all went well.
 */
#include <spawn.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

extern char **environ;

__attribute__((noinline, noclone)) long work(long n)
{
	__asm__ volatile("" ::: "memory");
	return n * 3 + 1;
}

static pid_t start(char **argv, int spawns)
{
	pid_t pid;

	if (spawns)
		return posix_spawn(&pid, argv[0], NULL, NULL, argv, environ) ? -1 : pid;
	pid = fork();
	if (!pid) {
		execv(argv[0], argv);
		_exit(1);
	}
	return pid;
}

int main(int argc, char **argv)
{
	int n = argc > 1 ? atoi(argv[1]) : 0, status;
	char less[16], *next[] = {argv[0], less, NULL};

	if (work(n) != n * 3 + 1)
		return 1;
	snprintf(less, sizeof(less), "%d", n - 1);
	if (n > 0 && (waitpid(start(next, n & 1), &status, 0) < 0 || !WIFEXITED(status) ||
			     WEXITSTATUS(status) != 5 || system("true")))
		return 1;
	if (n == 5) {
		snprintf(less, sizeof(less), "2");
		execv(argv[0], next);
	}
	return 5;
}
