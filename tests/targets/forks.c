/* SPDX-License-Identifier: MIT */
/*
 * Forks until SIGTERM, with a little rest each time, in which it can be
 * stopped; each child calls work() and ends with status 9. Then prints how many there were, and how many ended otherwise;
 * status 7.
 */
#include <signal.h>
#include <stdio.h>
#include <sys/wait.h>
#include <unistd.h>

static volatile sig_atomic_t over;

__attribute__((noinline, noclone)) long work(long n)
{
	return n * 3 + 1;
}

static void end(int sig)
{
	over = sig;
}

int main(void)
{
	struct sigaction sa = {.sa_handler = end, .sa_flags = SA_RESTART};
	long n = 0, bad = 0;
	int status;

	sigaction(SIGTERM, &sa, NULL);
	printf("ready %d\n", getpid());
	fflush(stdout);
	for (; !over; n++) {
		pid_t child = fork();

		if (!child)
			_exit(work(n) == n * 3 + 1 ? 9 : 1);
		if (child < 0 || waitpid(child, &status, 0) != child || !WIFEXITED(status) ||
			WEXITSTATUS(status) != 9)
			bad++;
		usleep(200);
	}
	printf("forks %ld bad %ld\n", n, bad);
	return 7;
}
