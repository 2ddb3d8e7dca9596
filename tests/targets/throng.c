/* SPDX-License-Identifier: MIT */
/* throng THREADS [CALLS]: that many threads, all alive at once, call work() so often each (twice), once they are all there. */
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>

static pthread_barrier_t all_there, go_on;
static long calls;

__attribute__((noinline)) long work(long thread, long call)
{
	__asm__ volatile("" ::: "memory");
	return thread * 3 + call;
}

static void *live(void *arg)
{
	long thread = (long)arg, sum = 0;

	pthread_barrier_wait(&all_there);
	pthread_barrier_wait(&go_on);
	for (long i = 0; i < calls; i++)
		sum += work(thread, i);
	if (sum != calls * thread * 3 + calls * (calls - 1) / 2)
		abort();
	pthread_barrier_wait(&all_there);
	return arg;
}

static void start(unsigned long n)
{
	pthread_attr_t small;
	pthread_t t;

	pthread_attr_init(&small);
	pthread_attr_setstacksize(&small, 64 << 10);
	pthread_attr_setdetachstate(&small, PTHREAD_CREATE_DETACHED);
	for (unsigned long i = 0; i < n; i++)
		if (pthread_create(&t, &small, live, (void *)i)) {
			printf("no more threads\n");
			exit(77);
		}
}

int main(int argc, char **argv)
{
	unsigned long n = argc > 1 ? strtoul(argv[1], NULL, 10) : 1;

	calls = argc > 2 ? atol(argv[2]) : 2;
	setlinebuf(stdout);
	pthread_barrier_init(&all_there, NULL, (unsigned)n + 1);
	pthread_barrier_init(&go_on, NULL, (unsigned)n + 1);
	start(n);
	pthread_barrier_wait(&all_there);
	printf("ready\n");
	pthread_barrier_wait(&go_on);
	pthread_barrier_wait(&all_there);
	printf("done\n");
	return 0;
}
