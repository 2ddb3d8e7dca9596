/* SPDX-License-Identifier: MIT */
/* The functions that the benches call, and what a call takes: TSC ticks, loop included. */
#ifndef TRAPLESS_BENCH_TICKS_H
#define TRAPLESS_BENCH_TICKS_H

#include <stdint.h>
#include <stdio.h>
#include <time.h>
#include <x86intrin.h>

/* In assembler, a cache line of its own. */
#define FUNCTION(name, body)                                                                       \
	".p2align 6\n"                                                                             \
	".globl " #name "\n"                                                                       \
	".type " #name ", @function\n" #name ": .cfi_startproc\n" body "	.cfi_endproc\n"           \
	".size " #name ", . - " #name "\n"
#define LEA_RET                                                                                    \
	"	lea 7(%rdi,%rsi), %rax\n"                                                                \
	"	ret\n"

/* Of fn, which does what LEA_RET does. Inlined, so that it is called directly. */
static inline __attribute__((always_inline)) double ticks_once(long (*fn)(long, long), long calls)
{
	uint64_t t = __rdtsc();
	long i, sum = 0;

	for (i = 0; i < calls; i++)
		sum += fn(i, 1);
	t = __rdtsc() - t;
	if (sum != calls * (calls - 1) / 2 + 8 * calls)
		puts("wrong result");
	return (double)t / (double)calls;
}

static inline double least(double a, double b)
{
	return a < b ? a : b;
}

/* The lowest of some repetitions. */
static inline __attribute__((always_inline)) double ticks(
	long (*fn)(long, long), long calls, long repetitions)
{
	double lowest = 1e30;

	while (repetitions-- > 0)
		lowest = least(lowest, ticks_once(fn, calls));
	return lowest;
}

static inline double since_then(const struct timespec *then)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	return (double)(now.tv_sec - then->tv_sec) * 1e9 + (double)(now.tv_nsec - then->tv_nsec);
}

/* Measured for a twentieth of a second. */
static inline double ticks_a_nanosecond(void)
{
	struct timespec then;
	uint64_t t;
	double ns;

	clock_gettime(CLOCK_MONOTONIC, &then);
	t = __rdtsc();
	do
		ns = since_then(&then);
	while (ns < 5e7);
	return (double)(__rdtsc() - t) / ns;
}

#endif
