/* SPDX-License-Identifier: MIT */
/* LTTng-UST reads it several times. */
#undef LTTNG_UST_TRACEPOINT_PROVIDER
#define LTTNG_UST_TRACEPOINT_PROVIDER bench
#undef LTTNG_UST_TRACEPOINT_INCLUDE
#define LTTNG_UST_TRACEPOINT_INCLUDE "./lttng_point.h"

#if !defined(TRAPLESS_BENCH_LTTNG_POINT_H) || defined(LTTNG_UST_TRACEPOINT_HEADER_MULTI_READ)
#define TRAPLESS_BENCH_LTTNG_POINT_H

#include <lttng/tracepoint.h>

LTTNG_UST_TRACEPOINT_EVENT(bench, three, LTTNG_UST_TP_ARGS(long, a, long, b, long, c),
	LTTNG_UST_TP_FIELDS(lttng_ust_field_integer(long, a, a) lttng_ust_field_integer(long, b, b)
			lttng_ust_field_integer(long, c, c)))

#endif
#include <lttng/tracepoint-event.h>
