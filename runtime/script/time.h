/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/* The time, and chance. */
#ifndef TRAPLESS_RUNTIME_SCRIPT_TIME_H
#define TRAPLESS_RUNTIME_SCRIPT_TIME_H

#include "number.h"

int64_t tl_time_ns(struct tl_run *run); /* since the epoch */
static inline int64_t tl_time_us(struct tl_run *run)
{
	return tl_div_any(tl_time_ns(run), 1000);
}
static inline int64_t tl_time_ms(struct tl_run *run)
{
	return tl_div_any(tl_time_ns(run), 1000000);
}
static inline int64_t tl_time_s(struct tl_run *run)
{
	return tl_div_any(tl_time_ns(run), 1000000000);
}
int64_t tl_cycles_now(struct tl_run *run); /* get_cycles() */
/* 0 .. n - 1; may fail (n above TL_RANDMAX) */
#define TL_RANDMAX (1 << 20)
int64_t tl_randint(struct tl_run *run, int64_t n);
void tl_ctime(struct tl_run *run, struct tl_str *dst, int64_t seconds);
void tl_tz_name(struct tl_run *run, struct tl_str *dst);
void tl_tz_ctime(struct tl_run *run, struct tl_str *dst, int64_t seconds);

#endif
