/* SPDX-License-Identifier: MIT */
/* Who listens to events and does nothing, and what ends a bench where it is refused. */
#ifndef TRAPLESS_BENCH_LISTEN_H
#define TRAPLESS_BENCH_LISTEN_H

#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <trapless/error.h>

static inline void must(int ret, const char *what)
{
	if (ret >= 0)
		return;
	fprintf(stderr, "bench/hooks: %s: %s\n", what, tl_error_text(ret));
	exit(1);
}

static inline void ignore(uint32_t event, const void *payload, size_t size, void *data)
{
	__asm__ volatile("" ::"r"(event), "r"(payload), "r"(size), "r"(data));
}

#endif
