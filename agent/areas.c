/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/*
 * A list of all memory that the engine maps in the target, kept in the control
 * block: a fork child is cleaned by it, and what a dead session left.
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
