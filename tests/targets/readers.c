/* SPDX-License-Identifier: MIT */
/*
 * Starts itself N times by fork and exec; what it starts reads a byte that comes a little later. No read may end otherwise:
 * nobody sends a signal. Status 5 where all went well.
 */
#include <stdio.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

static int reader(void)
{
	char byte;

	return read(0, &byte, 1) == 1 ? 5 : 1;
}

static int start(char *path)
{
	char *argv[] = {path, NULL};
	int ends[2], status;
	pid_t pid;

	if (pipe(ends) || (pid = fork()) < 0)
		return 1;
	if (!pid) {
		dup2(ends[0], 0);
		close(ends[0]);
		close(ends[1]);
		execv(path, argv);
		_exit(1);
	}
	close(ends[0]);
	usleep(20000);
	if (write(ends[1], "x", 1) != 1 || waitpid(pid, &status, 0) != pid)
		return 1;
	close(ends[1]);
	return !WIFEXITED(status) || WEXITSTATUS(status) != 5;
}

int main(int argc, char **argv)
{
	int n = argc > 1 ? atoi(argv[1]) : 0, wrong = 0, i;

	if (!n)
		return reader();
	for (i = 0; i < n; i++)
		wrong += start(argv[0]);
	printf("wrong %d\n", wrong);
	return wrong ? 1 : 5;
}
