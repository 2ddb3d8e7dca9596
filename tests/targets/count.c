/* SPDX-License-Identifier: MIT */
/*
 * Threads that call one function and know how often: count THREADS [CALLS [SECONDS]]. Ends on SIGTERM, or after
 * CALLS a thread, begun after SECONDS or, where these are 0, when a line comes; prints the sum.
 */
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

static volatile sig_atomic_t stop;
static unsigned long limit;
static unsigned long counts[64];

__attribute__((noinline)) long work(long a, long b)
{
	__asm__ volatile("" ::: "memory");
	return a * 3 + b;
}

static void *run(void *arg)
{
	unsigned long n = 0, *out = arg;
	volatile long sum = 0;

	while (!stop && (!limit || n < limit)) {
		sum += work((long)n, 1);
		n++;
	}
	*out = n;
	return NULL;
}

static void on_term(int sig)
{
	(void)sig;
	stop = 1;
}

int main(int argc, char **argv)
{
	int n = argc > 1 ? atoi(argv[1]) : 1, i;
	unsigned long total = 0;
	pthread_t t[64];

	limit = argc > 2 ? strtoul(argv[2], NULL, 10) : 0;
	signal(SIGTERM, on_term);
	printf("ready %d %p\n", getpid(), (void *)work);
	fflush(stdout);
	if (limit && argc > 3) {
		if (atoi(argv[3]))
			sleep((unsigned)atoi(argv[3]));
		else
			getchar();
	}
	for (i = 0; i < n; i++)
		pthread_create(&t[i], NULL, run, &counts[i]);
	for (i = 0; i < n; i++) {
		pthread_join(t[i], NULL);
		total += counts[i];
	}
	printf("calls %lu\n", total);
	return 7;
}
