/* SPDX-License-Identifier: MIT */
/* Each line of input is a number: so many more threads come to life, then all that live call work() once. */
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t change = PTHREAD_COND_INITIALIZER;
static unsigned long living, calls;
static int turn;

__attribute__((noinline)) long work(long a)
{
	__asm__ volatile("" ::: "memory");
	return a * 3 + 1;
}

static void *take_turns(void *arg)
{
	int mine;

	pthread_mutex_lock(&lock);
	mine = turn;
	living++;
	for (;;) {
		pthread_cond_broadcast(&change);
		while (turn == mine)
			pthread_cond_wait(&change, &lock);
		mine = turn;
		calls += work(2) == 7;
	}
	return arg;
}

static void wait_for(const unsigned long *count, unsigned long n)
{
	while (*count < n)
		pthread_cond_wait(&change, &lock);
}

int main(void)
{
	unsigned long more, wanted = 0, due = 0;
	pthread_attr_t small;
	char line[32];
	pthread_t t;

	pthread_attr_init(&small);
	pthread_attr_setstacksize(&small, 64 * 1024);
	printf("ready %d\n", getpid());
	fflush(stdout);
	while (fgets(line, sizeof(line), stdin)) {
		for (more = strtoul(line, NULL, 10); more; more--, wanted++)
			if (pthread_create(&t, &small, take_turns, NULL))
				return 1;
		pthread_mutex_lock(&lock);
		wait_for(&living, wanted);
		turn++;
		pthread_cond_broadcast(&change);
		wait_for(&calls, due += wanted);
		printf("calls %lu\n", calls);
		pthread_mutex_unlock(&lock);
		fflush(stdout);
	}
	return 7;
}
