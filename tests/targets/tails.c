/* SPDX-License-Identifier: MIT */
/*
 * Functions that end with a jump to another one: directly, through the
 * linkage table (looked up at the first call), through a pointer, into each
 * other. Prints what they returned in all.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#define PROBED __attribute__((noinline, noclone, visibility("default")))

PROBED long last(long n)
{
	__asm__ volatile("");
	return n * 3 + 1;
}

PROBED long tail(long n)
{
	__asm__ volatile("");
	return last(n + 1);
}

PROBED long odd(long n);
PROBED long even(long n)
{
	__asm__ volatile("");
	return n == 0 ? 100 : odd(n - 1);
}

PROBED long odd(long n)
{
	__asm__ volatile("");
	return n == 0 ? 200 : even(n - 1);
}

PROBED long by_plt(const char *s)
{
	__asm__ volatile("");
	return labs(atol(s));
}

PROBED long parse(const char *s)
{
	__asm__ volatile("");
	return strtol(s, NULL, 10);
}

typedef long (*function)(long);
static function volatile table[] = {last, tail, even}, same[] = {last, last};
/* Long enough for the jump to be reached by another one, whatever its own length. */
PROBED long by_pointer(long n, long which)
{
	__asm__ volatile("");
	return table[which](n);
}

PROBED long by_pointer_too(long n)
{
	__asm__ volatile("nop; nop; nop");
	return same[n % 2](n);
}

int main(int argc, char **argv)
{
	long rounds = argc > 1 ? atol(argv[1]) : 100, sum[5] = {0};
	const struct timespec ms = {0, 1000000};

	for (long i = 0; i < rounds; i++) {
		sum[0] += tail(i);
		sum[1] += even(i % 10);
		sum[2] += parse("17");
		sum[3] += by_plt("-4");
		sum[4] += by_pointer(i, i % 2) + by_pointer_too(i);
		if (argc > 2)
			nanosleep(&ms, NULL);
	}
	printf("tail %ld even %ld parse %ld by_plt %ld by_pointer %ld\n", sum[0], sum[1], sum[2],
		sum[3], sum[4]);
	return 6;
}
