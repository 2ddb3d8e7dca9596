/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/* Named points where tests let others go first. Nothing in other builds. */
#ifndef TRAPLESS_ENGINE_CORE_BASE_RACE_H
#define TRAPLESS_ENGINE_CORE_BASE_RACE_H

enum tl_race {
	RP_PUBLISHED,
	RP_TEXT_OPEN,
	RP_TRAPS_IN,
	RP_SPIN_HEAD,
	RP_SPIN_TAIL,
	RP_STOPPED, /* everyone stands, and some of the bytes are written */
	RP_TEXT_DONE,
	RP_RETIRED,
	RP_LOOK, /* at who still stands in a detour */
	RP_GRACE,
	RP_CLAIMED,
	RP_TRAPPED, /* in the thread that ran into a breakpoint, which is not led on yet */
	RP_COUNT
};

#ifdef TL_TEST
extern void (*tl_race_hook)(enum tl_race point);
static inline void tl_race_point(enum tl_race point)
{
	if (tl_race_hook)
		tl_race_hook(point);
}
#else
static inline void tl_race_point(enum tl_race point)
{
	(void)point;
}
#endif

#endif
