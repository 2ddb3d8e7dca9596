/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/* Promises that the engine makes to itself. */
#ifndef TRAPLESS_ENGINE_CORE_BASE_BROKEN_H
#define TRAPLESS_ENGINE_CORE_BASE_BROKEN_H

#include "../../os/os.h"

/* A broken promise inside the engine: test builds stop, others go on and count. */
void tl_broken(const char *what);
/* A home that wants to hear of them sets this. Context: whichever broke it. */
extern void (*tl_broken_heard)(const char *what);
#define TL_ASSERT(cond)                                                                            \
	do {                                                                                       \
		if (!(cond))                                                                       \
			tl_broken(#cond);                                                          \
	} while (0)
#define TL_ASSERT_HELD() TL_ASSERT(tl_os_lock_held())

#endif
