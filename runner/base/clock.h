/* SPDX-License-Identifier: MIT */
/* CLOCK_MONOTONIC in the unit that is wanted. */
#ifndef TRAPLESS_RUNNER_BASE_CLOCK_H
#define TRAPLESS_RUNNER_BASE_CLOCK_H

#include <stdint.h>
#include <time.h>

static inline uint64_t now_ns(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_MONOTONIC, &ts);
	return (uint64_t)ts.tv_sec * 1000000000u + (uint64_t)ts.tv_nsec;
}

static inline double now_ms(void)
{
	return (double)now_ns() / 1e6;
}

#endif
