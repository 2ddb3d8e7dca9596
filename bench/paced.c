/* SPDX-License-Identifier: MIT */
/*
 * paced THREADS RATE SECONDS: each thread calls event() RATE times a second (0: without a pause), for so long, and
 * measures each call. Prints calls, and the median of what one took in TSC ticks.
 */
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <x86intrin.h>

enum { SHOWN = 1 << 16 }; /* ticks that are told apart */

static double rate, seconds, ticks_a_second;

struct worker {
	pthread_t thread;
	unsigned long calls, took[SHOWN];
};

__attribute__((noinline)) long event(long a, long b)
{
	__asm__ volatile("" ::: "memory");
	return a + b;
}

static double now(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (double)t.tv_sec + (double)t.tv_nsec * 1e-9;
}

static double measure_clock(void)
{
	double since = now();
	unsigned long long from = __rdtsc();

	while (now() - since < 0.1)
		;
	return (double)(__rdtsc() - from) / (now() - since);
}

/* In portions of a millisecond, the rest of which it sleeps: as a program that has something else to do. */
static void portion(struct worker *w, unsigned long n)
{
	volatile long sum = 0;
	unsigned long i, t;

	for (i = 0; i < n; i++) {
		t = __rdtsc();
		sum += event((long)i, (long)w->calls);
		t = __rdtsc() - t;
		w->took[t < SHOWN ? t : SHOWN - 1]++;
		w->calls++;
	}
}

static void *run(void *arg)
{
	const struct timespec pause = {0, 500000};
	struct worker *w = arg;
	double since = now(), passed;

	while ((passed = now() - since) < seconds) {
		if (!rate) {
			portion(w, 10000);
			continue;
		}
		if (passed * rate > (double)w->calls)
			portion(w, (unsigned long)(passed * rate) - w->calls);
		nanosleep(&pause, NULL);
	}
	return NULL;
}

int main(int argc, char **argv)
{
	int n = argc > 3 ? atoi(argv[1]) : 1, i;
	struct worker *all = calloc((size_t)n, sizeof(*all));
	unsigned long calls = 0, seen = 0;
	long t;

	rate = argc > 3 ? atof(argv[2]) : 1000;
	seconds = argc > 3 ? atof(argv[3]) : 1;
	ticks_a_second = measure_clock();
	for (i = 0; i < n; i++)
		pthread_create(&all[i].thread, NULL, run, &all[i]);
	for (i = 0; i < n; i++) {
		pthread_join(all[i].thread, NULL);
		calls += all[i].calls;
	}
	for (t = 0; t < SHOWN && seen * 2 < calls; t++)
		for (i = 0; i < n; i++)
			seen += all[i].took[t];
	printf("%lu %ld %.0f\n", calls, t - 1, ticks_a_second);
	return 0;
}
