/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/* Making other processors see what we wrote, by membarrier. */
#include "process.h"

static long membarrier(long cmd)
{
	return tl_syscall3(TL_NR_membarrier, cmd, 0, 0);
}

/* Registering is the slow part (milliseconds with many threads); it lasts for the life of the process. */
int tl_sync_init(void)
{
	if (membarrier(TL_MEMBARRIER_REGISTER_SYNC_CORE) ||
		membarrier(TL_MEMBARRIER_REGISTER_PRIVATE))
		return -TL_E_SYNC;
	return 0;
}

int tl_os_sync_cores(void)
{
	return membarrier(TL_MEMBARRIER_SYNC_CORE) ? -TL_E_SYNC : 0;
}

int tl_os_sync_memory(void)
{
	return membarrier(TL_MEMBARRIER_PRIVATE) ? -TL_E_SYNC : 0;
}
