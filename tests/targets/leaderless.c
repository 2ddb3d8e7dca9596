/* SPDX-License-Identifier: MIT */
/* The main thread ends at once; another one calls work() for each line that it reads (argument: so many times) and ends the process by ending. */
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

__attribute__((noinline)) long work(long a)
{
	__asm__ volatile("" ::: "memory");
	return a * 7 + 2;
}

static void *run(void *arg)
{
	int i, calls = arg ? atoi(arg) : 0;
	char line[16];

	for (i = 0; calls ? i < calls : fgets(line, sizeof(line), stdin) != NULL; i++) {
		work(i);
		if (calls)
			usleep(10000);
	}
	printf("calls %d\n", i);
	fflush(stdout);
	return NULL;
}

int main(int argc, char **argv)
{
	pthread_t t;

	printf("ready %d\n", getpid());
	fflush(stdout);
	pthread_create(&t, NULL, run, argc > 1 ? argv[1] : NULL);
	pthread_exit(NULL);
}
