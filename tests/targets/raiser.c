/* SPDX-License-Identifier: MIT */
/*
 * One thread raises SIGTRAP every millisecond, for which there is a handler, while others come and go, N of them, and
 * call work(). With `inside`: three threads raise it N times each, and they and the handler call work(), which is a
 * hit while SIGTRAP is blocked there. Says ready and waits for a line before. Says `right N`; status 7.
 */
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { RAISERS = 3 };

static volatile int over, inside;
static volatile long handled;
static __thread volatile long handled_here;

__attribute__((noinline)) long work(long a)
{
	__asm__ volatile("" ::: "memory");
	return a * 3 + 1;
}

static void on_trap(int sig)
{
	(void)sig;
	handled++;
	handled_here++;
	if (inside)
		work(handled);
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

static void *inside_raiser(void *arg)
{
	long n = *(long *)arg, i;

	for (i = 0; i < n && handled_here == i; i++) {
		work(i);
		raise(SIGTRAP);
		work(i);
	}
	return handled_here == n ? arg : NULL;
}

static int all_inside(long n)
{
	pthread_t t[RAISERS];
	void *ret;
	int i, right = 0;

	inside = 1;
	for (i = 0; i < RAISERS; i++)
		pthread_create(&t[i], NULL, inside_raiser, &n);
	for (i = 0; i < RAISERS; i++) {
		pthread_join(t[i], &ret);
		right += ret != NULL;
	}
	printf(right == RAISERS ? "right %ld\n" : "some were lost of %ld\n", n);
	return right == RAISERS ? 7 : 2;
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
	if (argc > 2 && !strcmp(argv[2], "inside"))
		return all_inside(n);
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
