/* SPDX-License-Identifier: MIT */
/* A function with arguments in registers and on the stack; its result, and the latest signal that came. */
#include <signal.h>
#include <stdio.h>

static volatile sig_atomic_t came;

static void on_signal(int sig)
{
	came = sig;
}

__attribute__((noinline)) long join(int a, unsigned b, long c, long d, long e, long f, long g)
{
	__asm__ volatile("");
joined:
	__asm__ volatile("");
	return a + b * 10 + c * 100 + d * 1000 + e * 10000 + f * 100000 + g * 1000000;
}

int main(void)
{
	long r;

	signal(SIGUSR1, on_signal);
	r = join(1, 2, 3, 4, 5, 6, 7);
	printf("%ld %d\n", r, (int)came);
	return 0;
}
