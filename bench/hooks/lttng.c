/* SPDX-License-Identifier: MIT */
/*
 * A tracepoint of LTTng-UST with three words: ticks over a bare call, off, and when it was put on. A line of input is read
 * between the two, and before the end.
 */
#define LTTNG_UST_TRACEPOINT_CREATE_PROBES
#define LTTNG_UST_TRACEPOINT_DEFINE
#include "lttng_point.h"

#include "../ticks.h"
#include "place.h"

enum { CALLS = 100000, REPETITIONS = 125 }; /* as many as place.c has in all its rounds */

__asm__(".text\n" FUNCTION(bare, LEA_RET));
long bare(long a, long b);

PLACED long traced(long a, long b)
{
	lttng_ust_tracepoint(bench, three, a, b, 7);
	return a + b + 7;
}

static void say_what_it_costs(const char *name)
{
	double without = ticks(bare, CALLS, REPETITIONS), with = ticks(traced, CALLS, REPETITIONS);

	printf("%s\t-\t%.3f\n", name, with - without);
	fflush(stdout);
	(void)getchar();
}

int main(void)
{
	say_what_it_costs("LTTng-UST tracepoint, off");
	say_what_it_costs(
		lttng_ust_tracepoint_enabled(bench, three) ? "LTTng-UST tracepoint, recorded" : "");
	return 0;
}
