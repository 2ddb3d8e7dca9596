/* SPDX-License-Identifier: MIT */
/*
 * One thread raises SIGTRAP every millisecond, for which there is a handler, while others come and go, N of them, and
 * call work(). Says ready and waits for a line before. Says `right N`; status 7.
 */
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

static volatile int over;
static volatile long handled;

__attribute__((noinline)) long work(long a)
{
	__asm__ volatile("" ::: "memory");
	return a * 3 + 1;
}

static void on_trap(int sig)
{
	(void)sig;
	handled++;
}

static void *raiser(void *arg)
{
	long *raised = arg;

	while (!over) {
		raise(SIGTRAP);
		(*raised)++;
		usleep(1000);
	}
	return NULL;
}

static void *worker(void *arg)
{
	work(1);
	return arg;
}

int main(int argc, char **argv)
{
	const struct sigaction act = {.sa_handler = on_trap};
	int n = argc > 1 ? atoi(argv[1]) : 100, i;
	pthread_t t, r;
	long raised = 0;
	char line[8];

	sigaction(SIGTRAP, &act, NULL);
	puts("ready");
	fflush(stdout);
	if (!fgets(line, sizeof(line), stdin))
		return 1;
	pthread_create(&r, NULL, raiser, &raised);
	for (i = 0; i < n; i++) {
		pthread_create(&t, NULL, worker, NULL);
		pthread_join(t, NULL);
		usleep(500);
	}
	over = 1;
	pthread_join(r, NULL);
	if (raised != handled)
		printf("raised %ld handled %ld\n", raised, handled);
	else
		printf("right %d\n", n);
	return raised == handled && raised > 0 ? 7 : 2;
}
