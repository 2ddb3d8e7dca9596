/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/*
 * What the process home asks of the machine, and of Linux on it. A machine
 * gives, in the folder of its name:
 *
 * machine.h: numbers of system calls (TL_NR_*), tl_syscall6(), TL_PAGE, where
 *	a program's addresses end (TL_USER_END) and its first stack begins at
 *	the lowest (TL_STACK_LOWEST), TL_MAP_ANONYMOUS, TL_MAP_NORESERVE, TL_MAP_FIXED_NOREPLACE, TL_SIG_BLOCK,
 *	where in a thread's block its id may lie (TL_TCB_FROM, TL_TCB_TO), and
 *	tl_machine_thread(), tl_machine_ticks(), tl_machine_swap();
 * machine.c: what is declared here, and tl_os_shadow_stack();
 * frame.h, frame.c: signals, for the own process (see ../frame.h).
 */
#ifndef TRAPLESS_ENGINE_OS_PROCESS_MACHINE_H
#define TRAPLESS_ENGINE_OS_PROCESS_MACHINE_H

#include <stdbool.h>
#include <stdint.h>

#if defined(__x86_64__)
#include "x86_64/machine.h"
#else
#include "unported/machine.h"
#endif

/* The home tells, before tl_os_init(): what the kernel says of the machine (AT_HWCAP2). */
void tl_machine_init(unsigned long hwcap2);
/* The thread pointer as tl_machine_thread() reads it, by the way that never faults. Any context. */
uintptr_t tl_machine_thread_early(void);
/* May a detour go that way too, without a system call? */
bool tl_machine_fast_key(void);
/* Does a thread's block lie there? Never faults. Any context. */
bool tl_machine_is_thread(uintptr_t key);

#endif
