/* SPDX-License-Identifier: MIT */
/* N threads call work() all the time; the first thread, older than they, calls it a few times and ends them. Ends with 7. */
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

enum { CALLS = 20, MAX = 256 };

static volatile int over;

int work(int x);
__attribute__((noinline)) int work(int x)
{
	__asm__ volatile("" ::: "memory");
	return x + 1;
}

static void *run(void *arg)
{
	while (!over)
		work(1);
	return arg;
}

int main(int argc, char **argv)
{
	int i, n = argc > 1 ? atoi(argv[1]) : 1, sum = 0;
	pthread_t t[MAX];

	if (n > MAX)
		return 1;
	for (i = 0; i < n; i++)
		if (pthread_create(&t[i], NULL, run, NULL))
			return 2;
	for (i = 0; i < CALLS; i++) {
		usleep(1000);
		sum += work(i);
	}
	over = 1;
	for (i = 0; i < n; i++)
		pthread_join(t[i], NULL);
	printf("sum %d\n", sum);
	return 7;
}
