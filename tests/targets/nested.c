// SPDX-License-Identifier: MIT
// GNU C's nested functions, in each other and in a block; one uses what is its outer function's. Prints the sum.
#include <stdio.h>
#include <stdlib.h>

#define PROBED __attribute__((noinline))

static inline long scaled(long value, long by)
{
	return value * by;
}

static PROBED long outer(long rounds)
{
	long sum = 0;
	PROBED long nested(long x, int k)
	{
		PROBED long innermost(long z)
		{
			asm volatile("" ::: "memory");
			return z + 3; // INNERMOST
		}
		asm volatile("" ::: "memory");
		sum += x * k; // NESTED
		return innermost(x);
	}
	for (long i = 0; i < rounds; i++) {
		PROBED long in_block(long y)
		{
			asm volatile("" ::: "memory");
			return y + sum;
		}
		sum += nested(i, 2);
		sum += in_block(i);
		asm volatile("" : "+r"(sum));
		sum += scaled(sum & 7, i);
	}
	return sum;
}

int main(int argc, char **argv)
{
	printf("%ld\n", outer(argc > 1 ? atol(argv[1]) : 10));
	return 0;
}
