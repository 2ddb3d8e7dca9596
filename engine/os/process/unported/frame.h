/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/* A machine without a folder yet: what it must give is declared, and nowhere defined. */
#ifndef TRAPLESS_ENGINE_OS_PROCESS_UNPORTED_FRAME_H
#define TRAPLESS_ENGINE_OS_PROCESS_UNPORTED_FRAME_H

#include <stdint.h>

extern const int TL_SIGTRAP, TL_SIG_FIRST_RT, TL_SIG_LAST, TL_SI_QUEUE;
extern const unsigned long TL_SA_SIGINFO, TL_SA_ONSTACK, TL_SA_RESTART, TL_SA_NODEFER,
	TL_SA_RESETHAND;
extern const uintptr_t TL_SIG_DFL, TL_SIG_IGN;
extern const uintptr_t TL_RED_ZONE, TL_BREAKPOINT_STEP;

struct tl_sigaction {
	uintptr_t handler;
	unsigned long flags;
	uint64_t mask;
};
struct tl_siginfo {
	int32_t signo, code;
};
struct tl_ucontext;

#endif
