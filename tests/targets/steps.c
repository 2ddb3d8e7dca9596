/* SPDX-License-Identifier: MIT */
/* Calls what it is told to: a line `work N` or `idle N` on standard input. Says `done` to each; ends with the input. */
#include <stdio.h>
#include <string.h>
#include <unistd.h>

__attribute__((noinline)) long work(long a, long b)
{
	__asm__ volatile("" ::: "memory");
	return a * 3 + b;
}

__attribute__((noinline)) long idle(long a, long b)
{
	__asm__ volatile("" ::: "memory");
	return a * 5 + b;
}

int main(void)
{
	volatile long sum = 0;
	char what[16];
	long n;

	printf("ready %d\n", getpid());
	fflush(stdout);
	while (scanf("%15s %ld", what, &n) == 2) {
		for (long i = 0; i < n; i++)
			sum += strcmp(what, "work") ? idle(i, 1) : work(i, 1);
		puts("done");
		fflush(stdout);
	}
	return 7;
}
