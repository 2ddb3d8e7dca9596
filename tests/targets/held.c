/* SPDX-License-Identifier: MIT */
/*
 * held ends: threads call busy() without an end until the process returns.
 * held children: a child does that and ends, then the process calls after()
 * every 10 ms until its standard input ends.
 * held many N: so many children call after() one after the other. Status 7.
 */
#include <poll.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

enum { THREADS = 3, WHILE_US = 50000 };

__attribute__((noinline)) long busy(long a)
{
	__asm__ volatile("" : "+r"(a));
	return a;
}

__attribute__((noinline)) long after(long a)
{
	__asm__ volatile("" : "+r"(a));
	return a + 1;
}

static void *calls(void *arg)
{
	for (;;)
		busy(1);
	return arg;
}

static int ends(void)
{
	pthread_t t;
	int i;

	for (i = 0; i < THREADS; i++)
		pthread_create(&t, 0, calls, 0);
	usleep(WHILE_US);
	return 7;
}

static int child(int (*what)(void))
{
	pid_t pid = fork();
	int status = 0;

	if (!pid)
		_exit(what());
	waitpid(pid, &status, 0);
	return WEXITSTATUS(status);
}

static int once(void)
{
	return (int)after(6);
}

int main(int argc, char **argv)
{
	struct pollfd in = {.events = POLLIN};
	int n = argc > 2 ? atoi(argv[2]) : 0, status = 7;
	char byte;

	if (!strcmp(argv[1], "ends"))
		return ends();
	while (n-- && status == 7)
		status = child(once);
	if (argc > 2)
		return status;
	if (write(1, "ready\n", 6) != 6 || read(0, &byte, 1) != 1)
		return 1;
	status = child(ends);
	while (!poll(&in, 1, 10))
		after(1);
	return status;
}
