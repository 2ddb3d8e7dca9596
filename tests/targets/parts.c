// SPDX-License-Identifier: MIT
// A function that compilers divide into several parts, and one that calls it; by clang's -fbasic-block-sections=all each
// block is one. Prints how often each was called, and what they returned together.
#include <stdio.h>
#include <stdlib.h>

#ifndef LINKAGE
#define LINKAGE
#endif

static long worked, reported;

__attribute__((noinline)) LINKAGE void report(long count)
{
	reported++;
	asm volatile("" : : "r"(count) : "memory");
}

__attribute__((noinline)) LINKAGE long work(long i)
{
	worked++;
	if (__builtin_expect(i % 10 == 3, 0))
		report(i);
	if (__builtin_expect(i % 20 == 7, 0)) {
		report(-i);
		return i + 1;
	}
	return i * 2;
}

int main(int argc, char **argv)
{
	long rounds = argc > 1 ? atol(argv[1]) : 100, sum = 0;

	for (long i = 0; i < rounds; i++)
		sum += work(i);
	printf("%ld %ld %ld\n", worked, reported, sum);
	return 0;
}
