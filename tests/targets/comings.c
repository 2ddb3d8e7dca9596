/* SPDX-License-Identifier: MIT */
/*
 * comings HOW N: behind a line, N threads come, call work() 100 times each and
 * go, some at a time. Then 16 more come and wait, and the process ends: HOW is
 * `return`, `thread` (exit by one of them), `kill`, `exec` (by one of them), or
 * `first` (the first thread goes before them).
 */
#define _GNU_SOURCE
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <unistd.h>

enum { AT_ONCE = 32, LAST = 16 };

static pthread_barrier_t all_there;
static const char *how;

__attribute__((noinline, noclone)) long work(long n)
{
	__asm__ volatile("" : "+r"(n));
	return 3 * n + 1;
}

static void *worker(void *arg)
{
	long i;

	prctl(PR_SET_NAME, "worker");
	for (i = 0; i < 100; i++)
		work(i);
	return arg;
}

static void end(void)
{
	if (!strcmp(how, "thread"))
		exit(5);
	if (!strcmp(how, "kill"))
		raise(SIGKILL);
	if (!strcmp(how, "exec"))
		execl("/bin/sh", "sh", "-c", "exit 5", (char *)NULL);
}

static void *waiter(void *number)
{
	const struct timespec nap = {0, 1000000};

	pthread_barrier_wait(&all_there);
	if (number)
		while (strcmp(how, "first"))
			nanosleep(&nap, NULL);
	end();
	return NULL;
}

int main(int argc, char **argv)
{
	pthread_t t[AT_ONCE];
	long i, k, n = argc > 2 ? atol(argv[2]) : 0;

	how = argv[1];
	printf("ready\n");
	fflush(stdout);
	getchar();
	while (n > 0) {
		k = n < AT_ONCE ? n : AT_ONCE;
		for (i = 0; i < k; i++)
			pthread_create(&t[i], NULL, worker, NULL);
		for (i = 0; i < k; i++)
			pthread_join(t[i], NULL);
		n -= k;
	}
	pthread_barrier_init(&all_there, NULL, LAST + 1);
	for (i = 0; i < LAST; i++)
		pthread_create(&t[i], NULL, waiter, (void *)i);
	pthread_barrier_wait(&all_there);
	if (!strcmp(how, "first"))
		pthread_exit(NULL);
	if (strcmp(how, "return"))
		for (;;)
			pause();
	return 5;
}
