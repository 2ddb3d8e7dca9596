/* SPDX-License-Identifier: MIT */
/*
 * So many threads live at once. Each calls work() twice, once they are all there; with a second argument only when a line
 * has come.
 */
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>

static pthread_barrier_t all_there, go_on;

__attribute__((noinline)) long work(long a)
{
	__asm__ volatile("" ::: "memory");
	return a * 3 + 1;
}

static void *live(void *arg)
{
	pthread_barrier_wait(&all_there);
	pthread_barrier_wait(&go_on);
	if (work(1) + work(2) != 11)
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
	while (n--)
		if (pthread_create(&t, &small, live, NULL)) {
			printf("no more threads\n");
			exit(77);
		}
}

int main(int argc, char **argv)
{
	unsigned long n = argc > 1 ? strtoul(argv[1], NULL, 10) : 1;

	setlinebuf(stdout);
	pthread_barrier_init(&all_there, NULL, (unsigned)n + 1);
	pthread_barrier_init(&go_on, NULL, (unsigned)n + 1);
	start(n);
	pthread_barrier_wait(&all_there);
	printf("ready\n");
	if (argc > 2 && getchar() == EOF)
		return 1;
	pthread_barrier_wait(&go_on);
	pthread_barrier_wait(&all_there);
	printf("done\n");
	return 0;
}
