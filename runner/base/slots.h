/* SPDX-License-Identifier: MIT */
/*
 * Places in a session's control block: one for each of the module's probes, and behind them room for those of further
 * copies of its libraries (dlmopen, LD_AUDIT, one file under two names). Memory is touched where one is used.
 */
#ifndef TRAPLESS_RUNNER_BASE_SLOTS_H
#define TRAPLESS_RUNNER_BASE_SLOTS_H

#include "module.h"

enum { SLOT_COPIES = 15, SLOTS_MORE = 8192 }; /* the GNU C library has 16 namespaces */

/* Few probes have room in as many copies as there may be, many in one, and some in others. */
static inline uint64_t slots_more(uint64_t n)
{
	return n * SLOT_COPIES < n + SLOTS_MORE ? n * SLOT_COPIES : n + SLOTS_MORE;
}

static inline uint64_t probe_slots(const struct tl_tap *m)
{
	return m->nprobes + slots_more(m->nprobes);
}

static inline uint64_t part_slots(const struct tl_tap *m)
{
	return m->nparts + slots_more(m->nparts);
}

#endif
