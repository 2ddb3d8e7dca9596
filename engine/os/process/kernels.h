/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/*
 * Threads that the kernel makes in a process (io_uring's workers, vhost's): listed like the others, they never run its
 * code. Their registers are those of who caused them, and they take no signal. Old kernels mean something else by these
 * flags, but set none of these threads' masks.
 */
#ifndef TRAPLESS_ENGINE_OS_PROCESS_KERNELS_H
#define TRAPLESS_ENGINE_OS_PROCESS_KERNELS_H

#include <stdbool.h>
#include <stdint.h>

/* Fields of /proc/PID/stat, as proc(5) counts. */
enum { TL_STAT_FLAGS = 9, TL_STAT_BLOCKED = 32 };

static inline bool tl_is_kernels(uint64_t flags, uint64_t blocked)
{
	const uint64_t io_worker = 0x10, user_worker = 0x4000; /* PF_IO_WORKER, PF_USER_WORKER */
	const uint64_t all = 0x7ffbfeff; /* of the first 31, but SIGKILL and SIGSTOP */

	return flags & (io_worker | user_worker) && blocked == all;
}

#endif
