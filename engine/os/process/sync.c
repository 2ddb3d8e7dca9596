/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/* Making other processors see what we wrote, by membarrier. */
#include "process.h"

static long membarrier(long cmd)
{
	return tl_syscall3(TL_NR_membarrier, cmd, 0, 0);
}

/*
 * Registering waits for a grace period of the kernel (10 ms) unless the process
 * has a single thread; it lasts for the life of the process. One registration
 * serves both: syncing cores orders memory, too (membarrier(2)).
 */
int tl_sync_init(void)
{
	return membarrier(TL_MEMBARRIER_REGISTER_SYNC_CORE) ? -TL_E_SYNC : 0;
}

int tl_os_sync_cores(void)
{
	return membarrier(TL_MEMBARRIER_SYNC_CORE) ? -TL_E_SYNC : 0;
}

/* Nothing runs in a program whose threads stand still. */
bool tl_os_stop_sync(void)
{
	return false;
}

/* Whoever spins is preempted sooner or later, and synced then. */
bool tl_os_spin_ok(void)
{
	return true;
}

int tl_os_sync_memory(void)
{
	return tl_os_sync_cores();
}
