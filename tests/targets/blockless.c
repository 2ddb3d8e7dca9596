/* SPDX-License-Identifier: MIT */
/*
 * Makes threads (or, with "processes", processes that share its memory) by clone(2) without a thread block of their own:
 * their thread pointer is its own. Calls work() before that, in all of them, and afterwards. Ends with 7. With "early"
 * half of them sleep and half of them run until there is a line of input: then all of them, and the first thread, call
 * work() at once, and the first one again when they have ended.
 */
#define _GNU_SOURCE
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

enum { THREADS = 4, STACK = 65536, BEFORE = 1000, AFTER = 100, EACH = 100 };

static int calls;
static volatile int done, waits;
static volatile long sums[THREADS];

__attribute__((noinline)) long inner(long x)
{
	__asm__ volatile("" : "+r"(x));
	return x + 1;
}

__attribute__((noinline)) long work(long x)
{
	return inner(3 * x) - x;
}

static int run(void *arg)
{
	long n = (long)arg, sum = 0;

	while (waits)
		if (n & 1)
			syscall(SYS_nanosleep, &(struct timespec){0, 1000000}, NULL);
	for (int i = 0; i < calls; i++)
		sum += work(i);
	sums[n] = sum;
	__atomic_fetch_add(&done, 1, __ATOMIC_SEQ_CST);
	syscall(SYS_exit, 0);
	return 0;
}

static void begin(long n, int thread)
{
	int flags = CLONE_VM | CLONE_FS | CLONE_FILES | CLONE_SIGHAND | CLONE_SYSVSEM | thread;
	char *stack = mmap(NULL, STACK, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	if (stack == MAP_FAILED || clone(run, stack + STACK, flags, (void *)n) < 0)
		exit(1);
}

int main(int argc, char **argv)
{
	int processes = argc > 2 && !strcmp(argv[2], "processes");
	int early = argc > 2 && !strcmp(argv[2], "early");
	long sum = 0;

	calls = argc > 1 ? atoi(argv[1]) : 1000;
	waits = early;
	for (int i = 0; i < BEFORE && !early; i++)
		sum += work(i);
	for (long n = 0; n < THREADS; n++)
		begin(n, processes ? 0 : CLONE_THREAD);
	if (early) {
		puts("ready");
		fflush(stdout);
		getchar();
		waits = 0;
		for (int i = 0; i < calls; i++)
			sum += work(i);
	}
	while (done < THREADS)
		sched_yield();
	for (int i = 0; i < AFTER; i++) {
		for (int k = 0; k < EACH; k++)
			sum += work(k);
		usleep(1000); /* the guardian has its time to hear of their end */
	}
	for (long n = 0; n < THREADS; n++)
		sum += sums[n];
	printf("sum %ld\n", sum);
	return 7;
}
