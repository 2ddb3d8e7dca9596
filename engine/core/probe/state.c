/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/* The states of a probe, and which of them may follow which. */
#include "../base/broken.h"
#include "probe.h"

/* Rows: from; bits: to. */
static const uint8_t legal[] = {
	[TL_PROBE_NEW] = 1 << TL_PROBE_PREPARED,
	[TL_PROBE_PREPARED] = 1 << TL_PROBE_NEW | 1 << TL_PROBE_ARMED | 1 << TL_PROBE_OFF,
	[TL_PROBE_ARMED] = 1 << TL_PROBE_OFF | 1 << TL_PROBE_GONE,
	[TL_PROBE_OFF] = 1 << TL_PROBE_ARMED | 1 << TL_PROBE_GONE,
	[TL_PROBE_GONE] = 1 << TL_PROBE_PREPARED,
};

void tl_probe_move(struct tl_probe *p, enum tl_probe_state from, enum tl_probe_state to)
{
	if (p->state != from || !(legal[from] & 1u << to)) {
		tl_broken("illegal move of a probe");
		return;
	}
	__atomic_store_n(&p->state, to, __ATOMIC_RELEASE);
}
