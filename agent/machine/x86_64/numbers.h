/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/* x86-64. machine.h says what it is for. */
#ifndef TRAPLESS_AGENT_MACHINE_X86_64_NUMBERS_H
#define TRAPLESS_AGENT_MACHINE_X86_64_NUMBERS_H

enum {
	TL_ADDRESS_BITS = 56, /* of the largest address space; what is no address faults, too */
	TL_FUNC_ALIGN = 16, /* where compilers begin functions */
	TL_THREAD_BLOCK = 4096,
};

/* System calls that only handlers of a preloaded agent make. */
enum {
	TL_NR_getuid = 102,
	TL_NR_getgid = 104,
	TL_NR_geteuid = 107,
	TL_NR_getegid = 108,
	TL_NR_getppid = 110,
	TL_NR_getpgrp = 111,
	TL_NR_getsid = 124,
	TL_NR_process_vm_readv = 310,
	TL_NR_process_vm_writev = 311,
};

#endif
