/* SPDX-License-Identifier: MIT */
/* The hooks of the tests, as a program's header has them: in several files, and in a library. */
#ifndef TRAPLESS_TESTS_HOOKS_H
#define TRAPLESS_TESTS_HOOKS_H

#include <stdint.h>
#include <trapless/hook.h>

struct point {
	int x, y;
};
struct wide {
	long a, b, c;
};

TL_HOOK(demo, tick, (long, i), (const char *, word))
TL_HOOK(demo, kinds, (unsigned char, small), (short, negative), (float, f), (double, d),
	(struct point, at), (struct wide, w))
TL_HOOK(demo, many, (int, a), (int, b), (int, c), (int, d), (int, e), (int, f), (int, g), (int, h))
TL_HOOK_VERDICT(sec, may_open, int, 0, (const char *, path), (int, flags))
TL_HOOK_VERDICT(sec, best, const char *, NULL, (int, n))

/* In another file, and in a library. */
#ifdef __cplusplus
extern "C"
#endif
	long
	far_tick(long i);

#endif
