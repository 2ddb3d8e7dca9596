/* SPDX-License-Identifier: MIT */
/* An inlined function in one without an unwind entry, as Go's are (cflags: -fno-asynchronous-unwind-tables). */
#include <stdio.h>
#include <stdlib.h>

static inline __attribute__((always_inline)) int twice(int n)
{
	return n * 2 + 1;
}

__attribute__((noinline)) int work(int n)
{
	__asm__ volatile("" : "+r"(n));
	return twice(n) ^ 5;
}

int main(int argc, char **argv)
{
	int i, n = argc > 1 ? atoi(argv[1]) : 0, sum = 0;

	for (i = 0; i < n; i++)
		sum += work(i);
	printf("sum %d\n", sum);
	return 7;
}
