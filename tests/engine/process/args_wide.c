/* SPDX-License-Identifier: MIT */
/*
 * Argument probes on vectors of BYTES, in a file of their own: clang passes
 * them as the whole file's target has them.
 */
#include <trapless/argprobe.h>

#include "args.h"

typedef double vec __attribute__((vector_size(BYTES)));

#define CAT2(a, b) a##b
#define CAT(a, b)  CAT2(a, b)

static int hits, same;

static vec all(double x)
{
	vec v;

	for (size_t i = 0; i < BYTES / 8; i++)
		v[i] = x * (double)(i + 1);
	return v;
}

static int is_all(vec v, double x)
{
	for (size_t i = 0; i < BYTES / 8; i++)
		if (v[i] != x * (double)(i + 1))
			return 0;
	return 1;
}

/* Eight in registers, two on the stack. */
__attribute__((noinline)) static vec watched(
	vec a1, vec a2, vec a3, vec a4, vec a5, vec a6, vec a7, vec a8, int i, vec a9, vec a10)
{
	return a1 + 2 * a2 + 3 * a3 + 4 * a4 + 5 * a5 + 6 * a6 + 7 * a7 + 8 * a8 + i * a9 +
	       10 * a10;
}

static void on_watched(
	vec a1, vec a2, vec a3, vec a4, vec a5, vec a6, vec a7, vec a8, int i, vec a9, vec a10)
{
	hits++;
	same = is_all(a1, 1) && is_all(a2, 2) && is_all(a3, 3) && is_all(a4, 4) && is_all(a5, 5) &&
	       is_all(a6, 6) && is_all(a7, 7) && is_all(a8, 8) && i == 9 && is_all(a9, 9) &&
	       is_all(a10, 10);
	*(volatile double *)&a10 = 77;
	__asm__ volatile("vzeroall" ::: "memory");
}

/* 0, or which step went wrong. */
int CAT(args_wide_, BYTES)(void)
{
	__typeof__(&watched) volatile fn = watched;
	struct tl_argprobe p = {.entry = (void *)watched,
		.handler = (tl_arg_fn)on_watched,
		.stack_bytes = 2 * BYTES};
	vec r;

	if (tl_argprobe_register(&p))
		return 1;
	r = fn(all(1), all(2), all(3), all(4), all(5), all(6), all(7), all(8), 9, all(9), all(10));
	if (tl_argprobe_unregister(&p))
		return 2;
	return hits != 1 ? 3 : !same ? 4 : !is_all(r, 385) ? 5 : 0;
}
