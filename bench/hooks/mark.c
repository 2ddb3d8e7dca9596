/* SPDX-License-Identifier: MIT */
/* A static mark of <sys/sdt.h> that has a semaphore: all of a file have one, or none. */
#define _SDT_HAS_SEMAPHORES 1
#include <sys/sdt.h>

#include "place.h"

__extension__ unsigned short bench_wanted_semaphore __attribute__((section(".probes")));

long marked_if_wanted(long a, long b)
{
	if (__builtin_expect(bench_wanted_semaphore, 0))
		DTRACE_PROBE3(bench, wanted, a, b, 7L);
	return a + b + 7;
}
