/* SPDX-License-Identifier: MIT */
/* Numbers of system calls: of those that a C library's headers or a machine may not have. */
#ifndef TRAPLESS_RUNNER_MACHINE_CALLS_H
#define TRAPLESS_RUNNER_MACHINE_CALLS_H

#include <sys/syscall.h>

/* A call that this machine has not: no thread is ever in it. */
#define NO_CALL (-2)

/* The newest have the same number everywhere, from where a machine's begin. */
#ifdef __NR_Linux
#define CALL_NEW(n) (__NR_Linux + (n))
#else
#define CALL_NEW(n) (n)
#endif

/* Ours have offset 0, of which the unit does not matter. */
#ifndef SYS_mmap
#define SYS_mmap SYS_mmap2
#endif
#ifndef SYS_mmap2
#define SYS_mmap2 SYS_mmap
#endif

#ifndef SYS_fork
#define SYS_fork NO_CALL
#endif
#ifndef SYS_vfork
#define SYS_vfork NO_CALL
#endif
#ifndef SYS_poll
#define SYS_poll NO_CALL
#endif
#ifndef SYS_epoll_wait
#define SYS_epoll_wait NO_CALL
#endif
#ifndef SYS_semop
#define SYS_semop NO_CALL
#endif
#ifndef SYS_semtimedop
#define SYS_semtimedop NO_CALL
#endif
#ifndef SYS_msgrcv
#define SYS_msgrcv NO_CALL
#endif
#ifndef SYS_msgsnd
#define SYS_msgsnd NO_CALL
#endif
#ifndef SYS_accept
#define SYS_accept NO_CALL
#endif

#ifndef SYS_io_uring_enter
#define SYS_io_uring_enter CALL_NEW(426)
#endif
#ifndef SYS_pidfd_open
#define SYS_pidfd_open CALL_NEW(434)
#endif
#ifndef SYS_clone3
#define SYS_clone3 CALL_NEW(435)
#endif
#ifndef SYS_close_range
#define SYS_close_range CALL_NEW(436)
#endif
#ifndef SYS_pidfd_getfd
#define SYS_pidfd_getfd CALL_NEW(438)
#endif
#ifndef SYS_epoll_pwait2
#define SYS_epoll_pwait2 CALL_NEW(441)
#endif
#ifndef SYS_futex_waitv
#define SYS_futex_waitv CALL_NEW(449)
#endif

#endif
