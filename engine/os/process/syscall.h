/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/*
 * System calls without a C library: nothing here touches errno, so it may run
 * on any thread of any process. A result in [-4095, -1] is a negative errno.
 */
#ifndef TRAPLESS_ENGINE_OS_PROCESS_SYSCALL_H
#define TRAPLESS_ENGINE_OS_PROCESS_SYSCALL_H

#include <stdbool.h>

#include "machine.h"
#include "sysnr.h"

static inline long tl_syscall4(long nr, long a, long b, long c, long d)
{
	return tl_syscall6(nr, a, b, c, d, 0, 0);
}

static inline long tl_syscall3(long nr, long a, long b, long c)
{
	return tl_syscall6(nr, a, b, c, 0, 0, 0);
}

static inline bool tl_syscall_failed(long ret)
{
	return (unsigned long)ret >= -4095ul;
}

#endif
