/* SPDX-License-Identifier: MIT */
/*
 * Makes threads (or, with "processes", processes that share its memory) by clone(2) without a thread block of their own:
 * their thread pointer is its own. Calls work() before that, in all of them, and afterwards. Ends with 7.
 */
#define _GNU_SOURCE
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

enum { THREADS = 4, STACK = 65536, BEFORE = 1000, AFTER = 100, EACH = 100 };

static int calls;
static volatile int done;
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
	long sum = 0;

	calls = argc > 1 ? atoi(argv[1]) : 1000;
	for (int i = 0; i < BEFORE; i++)
		sum += work(i);
	for (long n = 0; n < THREADS; n++)
		begin(n, processes ? 0 : CLONE_THREAD);
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
