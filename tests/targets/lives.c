/* SPDX-License-Identifier: MIT */
/*
 * Makes a child for each line that it reads, by clone for `clone` and by fork
 * else, and tells its pid. Children work until their parent, at the end of its
 * input, ends them.
 */
#define _GNU_SOURCE
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <sys/wait.h>
#include <unistd.h>

static char stack[1 << 16] __attribute__((aligned(16)));

__attribute__((noinline, noclone)) long work(long n)
{
	__asm__ volatile("" : "+r"(n));
	return 3 * n + 1;
}

static int live(void *arg)
{
	(void)arg;
	for (long n = 0; work(n) == 3 * n + 1; n++)
		usleep(1000);
	return 1;
}

int main(void)
{
	pid_t child[16];
	char line[16];
	int n = 0, status, bad = 0;

	printf("ready\n");
	fflush(stdout);
	while (n < 16 && fgets(line, sizeof(line), stdin)) {
		child[n] =
			line[0] == 'c' ? clone(live, stack + sizeof(stack), SIGCHLD, NULL) : fork();
		if (!child[n])
			_exit(live(NULL));
		printf("%d\n", child[n++]);
		fflush(stdout);
	}
	while (n--) {
		kill(child[n], SIGTERM);
		bad += waitpid(child[n], &status, 0) != child[n] || !WIFSIGNALED(status) ||
		       WTERMSIG(status) != SIGTERM;
	}
	return bad;
}
