/* SPDX-License-Identifier: MIT */
/*
 * The traced program of bench/run. Reads lines `CALLS REPETITIONS`; for each it prints the lowest number of TSC
 * ticks that a call of `plain` took in any repetition, loop included.
 */
#include <stdint.h>
#include <stdio.h>
#include <x86intrin.h>

long plain(long a, long b);
__asm__(".text\n"
	".p2align 6\n"
	".globl plain\n"
	".type plain, @function\n"
	"plain:	.cfi_startproc\n"
	"	lea 7(%rdi,%rsi), %rax\n"
	"	ret\n"
	"	.cfi_endproc\n"
	".size plain, . - plain\n"
	/* As in a real program something follows; the gap is padding. */
	".p2align 6\n"
	".type follows, @function\n"
	"follows: .cfi_startproc\n"
	"ret\n"
	".cfi_endproc\n"
	".size follows, . - follows\n");

static double ticks(long calls)
{
	uint64_t before = __rdtsc();
	long i, sum = 0;

	for (i = 0; i < calls; i++)
		sum += plain(i, 1);
	before = __rdtsc() - before;
	if (sum != calls * (calls - 1) / 2 + 8 * calls)
		puts("wrong result");
	return (double)before / (double)calls;
}

int main(void)
{
	long calls, reps;

	puts("ready");
	fflush(stdout);
	while (scanf("%ld %ld", &calls, &reps) == 2) {
		double lowest = 1e30;

		while (reps-- > 0) {
			double now = ticks(calls);

			if (now < lowest)
				lowest = now;
		}
		printf("%.2f\n", lowest);
		fflush(stdout);
	}
	return 0;
}
