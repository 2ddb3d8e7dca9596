/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/* Making other processors see what we wrote, by interrupting each of them. */
#include <linux/smp.h>
#include <asm/sync_core.h>
#include "kernel.h"

static void serialize_core(void *unused)
{
	sync_core();
}

int tl_os_sync_cores(void)
{
	on_each_cpu(serialize_core, NULL, 1);
	return 0;
}

/* Tasks that do not run passed a barrier when they were switched out. */
int tl_os_sync_memory(void)
{
	return tl_os_sync_cores();
}

/* The kernel has none of its own. */
bool tl_os_shadow_stack(void)
{
	return false;
}

/* A processor that spins with interrupts off would never take ours. */
bool tl_os_spin_ok(void)
{
	return false;
}
