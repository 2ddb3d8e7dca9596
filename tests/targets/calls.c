// SPDX-License-Identifier: MIT
// Functions that two others call: out of line, inlined, and by a jump at the end; and labels.
#include <stdio.h>
#include <stdlib.h>

#ifdef __clang__
#define OWN __attribute__((noinline))
#else
#define OWN __attribute__((noipa))
#endif

OWN int leaf(int n, int a, int b, int c, int d, int e, int on_stack)
{
	__asm__ volatile("" : "+r"(n));
	return n + a + b + c + d + e + on_stack;
}

OWN int last(int n)
{
	__asm__ volatile("" : "+r"(n));
	return n * 3;
}

static inline __attribute__((always_inline)) int copied(int n)
{
	__asm__ volatile("" : "+r"(n));
	return n ^ 21;
}

OWN int first(int n)
{
	int sum = leaf(n, 1, 2, 3, 4, 5, 60) + copied(n);

	if (n % 3 == 0)
		goto odd;
	return last(sum);
odd:
	__asm__ volatile("" : "+r"(sum));
	return sum + leaf(n, 1, 2, 3, 4, 5, 61);
}

OWN int second(int n)
{
	return leaf(n, 9, 9, 9, 9, 9, 90) + copied(n) + last(n);
}

int main(int argc, char **argv)
{
	int i, n = argc > 1 ? atoi(argv[1]) : 0, sum = 0;

	for (i = 0; i < n; i++)
		sum += first(i) + second(i);
	printf("sum %d\n", sum);
	return 7;
}
