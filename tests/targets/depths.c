// SPDX-License-Identifier: MIT
// Two functions call the same ones, and those call on: through a plain frame, one found by its base register, a copy
// and a jump.
#include <alloca.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#ifdef __clang__
#define OWN __attribute__((noinline))
#else
#define OWN __attribute__((noipa))
#endif

OWN int deep(int n)
{
	__asm__ volatile("" : "+r"(n));
	return n + 1;
}

OWN int jumped(int n)
{
	return deep(n) * 3;
}

static inline __attribute__((always_inline)) int copied(int n)
{
	return deep(n ^ 1) + 7;
}

OWN int plain(int n)
{
	int kept[9];

	memset(kept, n, sizeof(kept));
	__asm__ volatile("" : : "r"(kept) : "memory");
	return deep(n) + copied(n) + kept[n & 7];
}

OWN int sized(int n)
{
	char *kept = alloca(n * 16 + 1);

	memset(kept, n, n * 16 + 1);
	__asm__ volatile("" : : "r"(kept) : "memory");
	return deep(n) + plain(n) + kept[n];
}

OWN int leaves(int n)
{
	__asm__ volatile("" : "+r"(n));
	return jumped(n);
}

OWN int one(int n)
{
	return plain(n) + sized(n) + leaves(n);
}

OWN int other(int n)
{
	return plain(n) + sized(n) + leaves(n) + deep(n);
}

int main(int argc, char **argv)
{
	int i, n = argc > 1 ? atoi(argv[1]) : 0, sum = 0;

	for (i = 0; i < n; i++)
		sum += one(i) + other(i) + other(i + 1);
	printf("sum %d\n", sum);
	return 7;
}
