/* SPDX-License-Identifier: MIT */
/*
 * The traced program of bench/run. First it prints how many TSC ticks a nanosecond has. Then it reads lines
 * `CALLS REPETITIONS`; for each it prints the lowest number of ticks that a call of `plain` took in any repetition,
 * loop included.
 */
#include "ticks.h"

/* As in a real program something follows; the gap is padding. */
__asm__(".text\n" FUNCTION(plain, LEA_RET) FUNCTION(follows, "	ret\n"));
long plain(long a, long b);

enum { DEPTH = 20 }; /* of the stack, for what walks it */

__attribute__((noinline)) static double at_depth(int n, long calls, long reps)
{
	double t = n ? at_depth(n - 1, calls, reps) : ticks(plain, calls, reps);

	__asm__ volatile("" ::: "memory");
	return t;
}

int main(void)
{
	long calls, reps;

	printf("ready %.6f\n", ticks_a_nanosecond());
	fflush(stdout);
	while (scanf("%ld %ld", &calls, &reps) == 2) {
		printf("%.2f\n", at_depth(DEPTH, calls, reps));
		fflush(stdout);
	}
	return 0;
}
