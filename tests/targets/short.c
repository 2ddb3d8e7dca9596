/* SPDX-License-Identifier: MIT */
/* N threads, one after the other, each calls work() once. With a second argument: says ready and waits for a line. */
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

int work(int x);
__attribute__((noinline)) int work(int x)
{
	__asm__ volatile("" ::: "memory");
	return 3 * x + 1;
}

static void *run(void *arg)
{
	work(1);
	return arg;
}

int main(int argc, char **argv)
{
	int i, n = argc > 1 ? atoi(argv[1]) : 1;
	pthread_t t;

	if (argc > 2) {
		puts("ready");
		fflush(stdout);
		if (getchar() == EOF)
			return 1;
	}
	for (i = 0; i < n; i++) {
		if (pthread_create(&t, NULL, run, NULL))
			return 1;
		pthread_join(t, NULL);
		usleep(500);
	}
	printf("ran %d\n", i);
	return 7;
}
