/* SPDX-License-Identifier: MIT */
/* Stacks of many kinds; prints those that the C library's own unwinder finds, a line each. */
#include <alloca.h>
#include <execinfo.h>
#include <pthread.h>
#include <setjmp.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define NOINLINE __attribute__((noinline))
#define KEEP()	 __asm__ volatile("" ::: "memory") /* no call is the last thing done */

static jmp_buf back;

/* Its callers. */
NOINLINE void mark(void)
{
	void *pc[64];
	int n = backtrace(pc, 64);

	for (int i = 1; i < n; i++)
		printf("%s%p", i > 1 ? " " : "", pc[i]);
	printf("\n");
}

NOINLINE int deep(int n)
{
	int r = n ? deep(n - 1) + 1 : 0;

	if (!n)
		mark();
	KEEP();
	return r;
}

static int compare(const void *a, const void *b)
{
	int x = *(const int *)a, y = *(const int *)b;

	mark();
	KEEP();
	return x - y;
}

/* The stack is aligned anew, and of no fixed size. */
NOINLINE int aligned(int n)
{
	char text[64] __attribute__((aligned(64)));
	char *more = alloca((size_t)n * 16);

	memset(text, n, sizeof(text));
	memset(more, n, (size_t)n * 16);
	mark();
	__asm__ volatile("" ::"r"(text), "r"(more) : "memory");
	return text[n] + more[n];
}

static void on_signal(int sig)
{
	(void)sig;
	mark();
	KEEP();
}

NOINLINE void interrupted(void)
{
	raise(SIGUSR1);
	KEEP();
	raise(SIGUSR2);
	KEEP();
}

NOINLINE __attribute__((noreturn)) void leave(void)
{
	mark();
	longjmp(back, 1);
}

/* Its last instruction is a call. */
NOINLINE __attribute__((noreturn)) void ends_with_a_call(void)
{
	KEEP();
	leave();
}

static void *thread(void *arg)
{
	deep(2);
	return arg;
}

int main(int argc, char **argv)
{
	static char stack[65536];
	const stack_t other = {.ss_sp = stack, .ss_size = sizeof(stack)};
	const struct sigaction on = {.sa_handler = on_signal};
	const struct sigaction on_other = {.sa_handler = on_signal, .sa_flags = SA_ONSTACK};
	int list[] = {3, 1, 4, 1, 5};
	pthread_t t;

	sigaltstack(&other, NULL);
	sigaction(SIGUSR1, &on, NULL);
	sigaction(SIGUSR2, &on_other, NULL);
	deep(argc > 1 ? atoi(argv[1]) : 5);
	qsort(list, 5, sizeof(list[0]), compare);
	printf("%d\n", aligned(3) & 1);
	interrupted();
	if (!setjmp(back))
		ends_with_a_call();
	fflush(stdout);
	pthread_create(&t, NULL, thread, NULL);
	pthread_join(t, NULL);
	return 0;
}
