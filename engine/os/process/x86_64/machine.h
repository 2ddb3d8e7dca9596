/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/* x86-64: see ../machine.h. */
#ifndef TRAPLESS_ENGINE_OS_PROCESS_X86_64_MACHINE_H
#define TRAPLESS_ENGINE_OS_PROCESS_X86_64_MACHINE_H

#include <stdbool.h>
#include <stdint.h>

enum tl_sysnr {
	TL_NR_read = 0,
	TL_NR_open = 2,
	TL_NR_close = 3,
	TL_NR_stat = 4,
	TL_NR_mmap = 9,
	TL_NR_mprotect = 10,
	TL_NR_munmap = 11,
	TL_NR_brk = 12,
	TL_NR_rt_sigaction = 13,
	TL_NR_rt_sigprocmask = 14,
	TL_NR_rt_sigreturn = 15,
	TL_NR_pread64 = 17,
	TL_NR_pwrite64 = 18,
	TL_NR_mremap = 25,
	TL_NR_madvise = 28,
	TL_NR_nanosleep = 35,
	TL_NR_getpid = 39,
	TL_NR_exit = 60,
	TL_NR_readlink = 89,
	TL_NR_sigaltstack = 131,
	TL_NR_prctl = 157,
	TL_NR_arch_prctl = 158,
	TL_NR_gettid = 186,
	TL_NR_futex = 202,
	TL_NR_getdents64 = 217,
	TL_NR_clock_gettime = 228,
	TL_NR_tgkill = 234,
	TL_NR_set_robust_list = 273,
	TL_NR_rt_tgsigqueueinfo = 297,
	TL_NR_membarrier = 324,
};

#define TL_PAGE		4096ul
#define TL_USER_END	0x7ffffffff000ul
#define TL_STACK_LOWEST 0x7ffb00000000ul /* 16 GiB of randomization below the end */

enum {
	TL_MAP_ANONYMOUS = 0x20,
	TL_MAP_NORESERVE = 0x4000,
	TL_MAP_FIXED_NOREPLACE = 0x100000,
	TL_SIG_BLOCK = 0,
};

/* glibc has a thread's id at 0x2d0, musl at 0x30. */
enum { TL_TCB_FROM = 8, TL_TCB_TO = 0x600 };

/* As detours read it: faults where it leads nowhere. Any context. */
static inline uintptr_t tl_machine_thread(void)
{
	uintptr_t key;

	__asm__ volatile("mov %%fs:0, %0" : "=r"(key));
	return key;
}

/* Compare and swap, whole for the calling thread and its signal handlers alone. Any context. */
static inline bool tl_machine_swap(uintptr_t *word, uintptr_t *old, uintptr_t new)
{
	bool done;

	__asm__ volatile("cmpxchg %3, %1"
			 : "=@ccz"(done), "+m"(*word), "+a"(*old)
			 : "r"(new)
			 : "memory");
	return done;
}

/* The processor's clock, which all of them share. Any context. */
static inline uint64_t tl_machine_ticks(void)
{
	uint32_t lo, hi;

	__asm__ volatile("rdtsc" : "=a"(lo), "=d"(hi) : : "memory");
	return (uint64_t)hi << 32 | lo;
}

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

#endif
