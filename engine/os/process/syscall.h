/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/*
 * System calls without a C library: nothing here touches errno, so it may run
 * on any thread of any process. A result in [-4095, -1] is a negative errno.
 */
#ifndef TRAPLESS_ENGINE_OS_PROCESS_SYSCALL_H
#define TRAPLESS_ENGINE_OS_PROCESS_SYSCALL_H

#include <stdbool.h>

#include "sysnr.h"

#if defined(__x86_64__)
static inline long tl_syscall6(long nr, long a, long b, long c, long d, long e, long f)
{
	register long r10 __asm__("r10") = d;
	register long r8 __asm__("r8") = e;
	register long r9 __asm__("r9") = f;
	long ret;

	__asm__ volatile("syscall"
			 : "=a"(ret)
			 : "0"(nr), "D"(a), "S"(b), "d"(c), "r"(r10), "r"(r8), "r"(r9)
			 : "rcx", "r11", "memory");
	return ret;
}
#else
#error "the process home has no system call sequence for this machine yet"
#endif

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
