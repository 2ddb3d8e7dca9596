/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/* A machine without a folder yet: what it must give is declared, and nowhere defined. All else compiles, and nothing links. */
#ifndef TRAPLESS_ENGINE_OS_PROCESS_UNPORTED_MACHINE_H
#define TRAPLESS_ENGINE_OS_PROCESS_UNPORTED_MACHINE_H

#include <stdbool.h>
#include <stdint.h>

extern const long TL_NR_read, TL_NR_open, TL_NR_close, TL_NR_stat, TL_NR_mmap, TL_NR_mprotect,
	TL_NR_munmap, TL_NR_brk, TL_NR_rt_sigaction, TL_NR_rt_sigprocmask, TL_NR_rt_sigreturn,
	TL_NR_pread64, TL_NR_pwrite64, TL_NR_mremap, TL_NR_madvise, TL_NR_nanosleep, TL_NR_getpid,
	TL_NR_exit, TL_NR_readlink, TL_NR_sigaltstack, TL_NR_prctl, TL_NR_gettid, TL_NR_futex,
	TL_NR_getdents64, TL_NR_clock_gettime, TL_NR_tgkill, TL_NR_set_robust_list,
	TL_NR_rt_tgsigqueueinfo, TL_NR_membarrier;
extern const unsigned long TL_PAGE;
extern const uintptr_t TL_USER_END, TL_STACK_LOWEST;
extern const int TL_MAP_ANONYMOUS, TL_MAP_NORESERVE, TL_MAP_FIXED_NOREPLACE, TL_SIG_BLOCK;
extern const int32_t TL_TCB_FROM, TL_TCB_TO;
uintptr_t tl_machine_thread(void);
uint64_t tl_machine_ticks(void);
bool tl_machine_swap(uintptr_t *word, uintptr_t *old, uintptr_t new);
long tl_syscall6(long nr, long a, long b, long c, long d, long e, long f);

#endif
