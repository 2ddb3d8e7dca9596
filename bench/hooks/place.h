/* SPDX-License-Identifier: MIT */
/* The functions that are timed: each is called as it stands, for a weak one might be another, and begins a cache line. */
#ifndef TRAPLESS_BENCH_PLACE_H
#define TRAPLESS_BENCH_PLACE_H

#define PLACED __attribute__((weak, noinline, aligned(64)))

PLACED long marked_if_wanted(long a, long b);

#endif
