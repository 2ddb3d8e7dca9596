/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/* Numbers of the kernel interface, so that no libc or kernel header is needed. */
#ifndef TRAPLESS_ENGINE_OS_PROCESS_SYSNR_H
#define TRAPLESS_ENGINE_OS_PROCESS_SYSNR_H

#if defined(__x86_64__)
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
#define TL_PAGE 4096ul
#endif

enum {
	TL_ESRCH = 3,
	TL_EINTR = 4,
	TL_EFAULT = 14,
	TL_EINVAL = 22,
};

enum { TL_O_CLOEXEC = 02000000 };

/* mmap, mprotect, mremap, madvise */
enum {
	TL_PROT_NONE = 0,
	TL_PROT_READ = 1,
	TL_PROT_WRITE = 2,
	TL_PROT_EXEC = 4,
	TL_MAP_SHARED = 0x1,
	TL_MAP_PRIVATE = 0x2,
	TL_MAP_ANONYMOUS = 0x20,
	TL_MAP_NORESERVE = 0x4000,
	TL_MAP_FIXED_NOREPLACE = 0x100000,
	TL_MREMAP_MAYMOVE = 1,
	TL_MREMAP_FIXED = 2,
	TL_MADV_HUGEPAGE = 14,
	TL_MADV_NOHUGEPAGE = 15,
	TL_MADV_DONTDUMP = 16,
	TL_MADV_WIPEONFORK = 18,
};

enum {
	TL_FUTEX_WAIT = 0,
	TL_FUTEX_WAKE = 1,
	TL_FUTEX_WAIT_PRIVATE = 128,
	TL_FUTEX_WAKE_PRIVATE = 129,
};

enum {
	TL_MEMBARRIER_SYNC_CORE = 1 << 5,
	TL_MEMBARRIER_REGISTER_SYNC_CORE = 1 << 6,
};

enum {
	TL_ARCH_GET_FS = 0x1003,
	TL_CLOCK_MONOTONIC = 1,
};

struct tl_timespec {
	long sec, nsec;
};

#endif
