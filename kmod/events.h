/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/* The standard events of the trace facility, as this kernel's tracepoints tell them. */
#ifndef TRAPLESS_KMOD_EVENTS_H
#define TRAPLESS_KMOD_EVENTS_H

#include <linux/types.h>

/*
 * Stand on the tracepoint of this event, or leave it. 0, also for an event that this kernel has no tracepoint of; -TL_E_NOMEM,
 * -TL_E_LIMIT. Sleeps; not twice at once.
 */
int event_want(u32 event, bool wanted);

#endif
