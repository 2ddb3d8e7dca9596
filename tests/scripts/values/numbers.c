/* SPDX-License-Identifier: MIT */
/* Calls a function with the numbers of its standard input, three at a time. */
#include <stdio.h>

__attribute__((noinline)) long given(long a, int b, unsigned char c)
{
	__asm__ volatile("" : "+r"(a), "+r"(b) : "r"((unsigned)c));
	return a + b + c;
}

int main(void)
{
	long a;
	int b;
	unsigned c;

	while (scanf("%ld %d %u", &a, &b, &c) == 3)
		given(a, b, (unsigned char)c);
	return 0;
}
