/* SPDX-License-Identifier: MIT */
/*
 * To be built with a leak checker. Of its threads one sleeps and one works without a pause, neither of which calls
 * work(). Calls that a hundred times, has itself checked, calls it again, and says what it has found. With "leak" there
 * is something to be found; with "attach" it waits for a line of input first. Ends with 7, where the checker lets it.
 */
#include <pthread.h>
#include <sanitizer/lsan_interface.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { CALLS = 100, LEAKS = 20 };

static void *volatile last;
static volatile long spins;

__attribute__((noinline)) long work(long x)
{
	__asm__ volatile("" : "+r"(x));
	return 3 * x + 1;
}

static long calls(void)
{
	long sum = 0;

	for (long i = 0; i < CALLS; i++)
		sum += work(i);
	return sum;
}

static void *sleeps(void *arg)
{
	pause();
	return arg;
}

static void *spins_on(void *arg)
{
	for (;;)
		spins++;
	return arg;
}

static int has(int argc, char **argv, const char *word)
{
	while (argc > 1 && strcmp(argv[argc - 1], word))
		argc--;
	return argc > 1;
}

int main(int argc, char **argv)
{
	pthread_t t[2];
	long sum = 0;
	int found;

	pthread_create(&t[0], NULL, sleeps, NULL);
	pthread_create(&t[1], NULL, spins_on, NULL);
	if (has(argc, argv, "attach")) {
		puts("ready");
		fflush(stdout);
		getchar();
	}
	for (int i = 0; i < LEAKS && has(argc, argv, "leak"); i++)
		last = malloc(100 + (size_t)i);
	last = NULL;
	sum += calls();
	found = __lsan_do_recoverable_leak_check();
	sum += calls();
	printf("found %d sum %ld\n", found, sum);
	fflush(stdout);
	return 7;
}
