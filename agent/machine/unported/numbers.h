/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/* A machine without a folder yet: what it must give is declared, and nowhere defined. All else compiles, and nothing links. */
#ifndef TRAPLESS_AGENT_MACHINE_UNPORTED_NUMBERS_H
#define TRAPLESS_AGENT_MACHINE_UNPORTED_NUMBERS_H

extern const unsigned TL_ADDRESS_BITS, TL_FUNC_ALIGN;
enum { TL_THREAD_BLOCK = 4096 }; /* the size of an array */

extern const long TL_NR_getuid, TL_NR_getgid, TL_NR_geteuid, TL_NR_getegid, TL_NR_getppid,
	TL_NR_getpgrp, TL_NR_getsid, TL_NR_process_vm_readv, TL_NR_process_vm_writev;

#endif
