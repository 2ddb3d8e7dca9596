/* SPDX-License-Identifier: MIT */
/* printing THREADS CALLS: that many threads, all alive at once, call line() so often each. */
#include <pthread.h>
#include <stdlib.h>

enum { STACK = 64 << 10 };

static pthread_barrier_t together;
static long calls;

__attribute__((noinline)) long line(long thread, long call)
{
	__asm__ volatile("" ::: "memory");
	return thread + call;
}

static void *run(void *arg)
{
	volatile long sum = 0;

	pthread_barrier_wait(&together);
	for (long i = 0; i < calls; i++)
		sum += line((long)arg, i);
	pthread_barrier_wait(&together);
	return NULL;
}

int main(int argc, char **argv)
{
	long n = argc > 2 ? atol(argv[1]) : 1, i;
	pthread_t *t = calloc((size_t)n, sizeof(*t));
	pthread_attr_t small;

	calls = argc > 2 ? atol(argv[2]) : 1;
	pthread_attr_init(&small);
	pthread_attr_setstacksize(&small, STACK);
	pthread_barrier_init(&together, NULL, (unsigned)n);
	for (i = 0; i < n; i++)
		if (pthread_create(&t[i], &small, run, (void *)i))
			return 1;
	for (i = 0; i < n; i++)
		pthread_join(t[i], NULL);
	return 0;
}
