/* SPDX-License-Identifier: MIT */
/*
 * THREADS that are busy, nearly always in busy(), and four that sleep in a read,
 * a poll, a nanosleep and a futex without end, or none of those.
 *	sampled THREADS asleep	until a line of input
 *	sampled THREADS ROUNDS	so much work
 * It says what the threads have reckoned (of ROUNDS, it is always the same); status 7.
 */
#define _GNU_SOURCE
#include <poll.h>
#include <pthread.h>
#include <semaphore.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

enum { STEPS = 20000, SLEEPERS = 4 };

static volatile bool over;
static unsigned long rounds;
static int never[2];
static sem_t nobody;

__attribute__((noinline)) unsigned long busy(unsigned long n)
{
	unsigned i;

	for (i = 0; i < STEPS; i++)
		n = (n ^ n >> 7) * 6364136223846793005ul + 1442695040888963407ul;
	return n;
}

__attribute__((noinline)) unsigned long seldom(unsigned long n)
{
	__asm__ volatile("" ::: "memory");
	return n + 1;
}

static __attribute__((noinline)) void *work(void *arg)
{
	unsigned long *n = arg, k;

	for (k = 0; !over && (!rounds || k < rounds); k++)
		*n = seldom(busy(*n));
	return NULL;
}

static void *sleeper(void *arg)
{
	struct pollfd fd = {.fd = never[0], .events = POLLIN};
	const struct timespec long_time = {100000, 0};
	char c;

	switch ((long)arg) {
	case 0:
		return read(never[0], &c, 1) ? NULL : arg;
	case 1:
		return poll(&fd, 1, 100000000) ? NULL : arg;
	case 2:
		return nanosleep(&long_time, NULL) ? NULL : arg;
	}
	sem_wait(&nobody);
	return arg;
}

static void fall_asleep(void)
{
	pthread_t t;
	long i;

	if (pipe(never) || sem_init(&nobody, 0, 0))
		exit(1);
	for (i = 0; i < SLEEPERS; i++)
		pthread_create(&t, NULL, sleeper, (void *)i);
}

int main(int argc, char **argv)
{
	unsigned long n = argc > 1 ? strtoul(argv[1], NULL, 0) : 1, i;
	bool asleep = argc > 2 && !strcmp(argv[2], "asleep");
	unsigned long *results = calloc(n, sizeof(*results));
	pthread_t *t = calloc(n, sizeof(*t));

	rounds = argc > 2 && !asleep ? strtoul(argv[2], NULL, 0) : 0;
	if (!t || !results)
		return 1;
	if (asleep)
		fall_asleep();
	for (i = 0; i < n; i++) {
		results[i] = i;
		if (pthread_create(&t[i], NULL, work, &results[i]))
			return 1;
	}
	printf("ready\n");
	fflush(stdout);
	if (asleep)
		over = getchar() != 0;
	for (i = 0; i < n; i++) {
		pthread_join(t[i], NULL);
		if (!asleep)
			printf("%lx\n", results[i]);
	}
	return 7;
}
