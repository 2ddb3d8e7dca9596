/* SPDX-License-Identifier: MIT */
/* Ends with a jump to where a pointer leads, which the loader fills in. */
#include <stdio.h>

typedef long (*function)(long);

static __attribute__((noinline)) long plus(long n)
{
	__asm__ volatile("");
	return n + 1;
}

static function volatile hook = plus;

__attribute__((noinline, noclone)) long by_hook(long n)
{
	__asm__ volatile("");
	return hook(n);
}

int main(void)
{
	long sum = 0;

	for (int i = 0; i < 10; i++)
		sum += by_hook(i);
	printf("%ld\n", sum);
	return 6;
}
