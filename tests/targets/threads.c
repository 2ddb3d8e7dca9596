/* SPDX-License-Identifier: MIT */
/* Two threads call work() without a pause and one sleeps, until a line comes; says how many calls there were. */
#include <pthread.h>
#include <stdio.h>
#include <time.h>

static volatile int stop;

__attribute__((noinline)) long work(long a)
{
	__asm__ volatile("" ::: "memory");
	return a * 3 + 1;
}

static void *busy(void *calls)
{
	while (!stop)
		*(unsigned long *)calls += work(2) == 7;
	return NULL;
}

static void *sleepy(void *arg)
{
	const struct timespec ts = {0, 300000000};

	while (!stop)
		nanosleep(&ts, NULL);
	return arg;
}

int main(void)
{
	unsigned long calls[2] = {0, 0};
	pthread_t t[3];
	int i;

	pthread_create(&t[0], NULL, busy, &calls[0]);
	pthread_create(&t[1], NULL, busy, &calls[1]);
	pthread_create(&t[2], NULL, sleepy, NULL);
	puts("ready");
	fflush(stdout);
	getchar();
	stop = 1;
	for (i = 0; i < 3; i++)
		pthread_join(t[i], NULL);
	printf("calls %lu\n", calls[0] + calls[1]);
	return 9;
}
