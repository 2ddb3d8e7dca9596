/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/* Numbers of the kernel interface that are the same on all machines, so that no libc or kernel header is needed. */
#ifndef TRAPLESS_ENGINE_OS_PROCESS_SYSNR_H
#define TRAPLESS_ENGINE_OS_PROCESS_SYSNR_H

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
	TL_MEMBARRIER_PRIVATE = 1 << 3,
	TL_MEMBARRIER_REGISTER_PRIVATE = 1 << 4,
	TL_MEMBARRIER_SYNC_CORE = 1 << 5,
	TL_MEMBARRIER_REGISTER_SYNC_CORE = 1 << 6,
};

enum {
	TL_CLOCK_MONOTONIC = 1,
};

struct tl_timespec {
	long sec, nsec;
};

#endif
