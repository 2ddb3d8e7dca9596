/* SPDX-License-Identifier: MIT */
/* A library with one hook at 4,096 places. */
#include <trapless/hook.h>

TL_HOOK(lib, place, (long, n))

#define PLACE                                                                                      \
	n++;                                                                                       \
	tl_hook(lib, place, n);
#define TIMES4(x) x x x x
#define PLACES64  TIMES4(TIMES4(TIMES4(PLACE)))

/* 1,024 each. */
#define PART(name)                                                                                 \
	__attribute__((noinline)) static long name(long n)                                         \
	{                                                                                          \
		TIMES4(TIMES4(PLACES64)) return n;                                                 \
	}
PART(first)
PART(second)
PART(third)
PART(fourth)

long lib_work(void)
{
	return fourth(third(second(first(0))));
}
