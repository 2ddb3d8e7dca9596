/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/*
 * Memory of the process, as the control block and the mappings tell. What the engine maps in the target is kept in a
 * list: a fork child is cleaned by it, and what a dead session left.
 */
#include "agent.h"
#include "../engine/os/process/process.h"

/* What is not on the list would stay for ever. */
int tl_home_area_add(uintptr_t lo, size_t size)
{
	return tl_ctl_area_add(tl_ctl, lo, tl_page_up(size), false) ? -TL_E_NOMEM : 0;
}

void tl_home_area_drop(uintptr_t lo)
{
	tl_ctl_area_drop(tl_ctl, lo);
}

bool tl_home_writable(uint64_t addr)
{
	const int rw = TL_PROT_READ | TL_PROT_WRITE;
	struct tl_mapping map;

	return tl_home_map(addr, &map) && map.lo <= addr && (map.prot & rw) == rw;
}
