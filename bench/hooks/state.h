/* SPDX-License-Identifier: MIT */
/* Hooks at the beginning and the end of what table.c does. Without HOOKED there are none. */
#ifndef TRAPLESS_BENCH_STATE_H
#define TRAPLESS_BENCH_STATE_H

#ifdef HOOKED
#define TL_HOOK_FORM TL_HOOK_NOP
#include <trapless/hook.h>

TL_HOOK(bench, enter, (long, number), (const void *, caller))
TL_HOOK(bench, leave, (long, number), (long, result))
#define ENTER(number)	      tl_hook(bench, enter, number, __builtin_return_address(0))
#define LEAVE(number, result) tl_hook(bench, leave, number, result)

/*
 * off: nobody listens; on: the hooks' listeners would raise events, which nobody wants; tracer: one records them; callbacks:
 * each event has an empty one.
 */
void become(const char *state);
#else
#define ENTER(number)
#define LEAVE(number, result)
static inline void become(const char *state)
{
	(void)state;
}
#endif

#endif
