/* SPDX-License-Identifier: MIT */
/* Threads that call a function with the same 500 numbers, twelve times each in all; many share a hash bucket. */
#include <pthread.h>

enum { THREADS = 4, ROUNDS = 3, KEYS = 500 };

__attribute__((noinline)) long keyed(long key, int small)
{
	__asm__ volatile("" : "+r"(key));
	return key + small;
}

static void *calls(void *arg)
{
	long i;

	for (i = 0; i < ROUNDS * KEYS; i++)
		keyed(i % KEYS * (i % KEYS) * 7919, (int)(-i % KEYS));
	return arg;
}

int main(void)
{
	pthread_t threads[THREADS];
	int i;

	for (i = 0; i < THREADS; i++)
		pthread_create(&threads[i], 0, calls, 0);
	for (i = 0; i < THREADS; i++)
		pthread_join(threads[i], 0);
	return 0;
}
