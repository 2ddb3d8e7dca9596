/* SPDX-License-Identifier: MIT */
/* The main thread ends at once; another one calls work() for two seconds and ends the process by ending. */
#include <pthread.h>
#include <stdio.h>
#include <unistd.h>

__attribute__((noinline)) long work(long a)
{
	__asm__ volatile("" ::: "memory");
	return a * 7 + 2;
}

static void *run(void *arg)
{
	int i;

	for (i = 0; i < 300; i++) {
		work(i);
		usleep(10000);
	}
	printf("calls %d\n", i);
	fflush(stdout);
	return arg;
}

int main(void)
{
	pthread_t t;

	printf("ready %d\n", getpid());
	fflush(stdout);
	pthread_create(&t, NULL, run, NULL);
	pthread_exit(NULL);
}
