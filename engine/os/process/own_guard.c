/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/* Own process: the engine's records of threads, asked when they are stopped. */
#include "../../core/base/core.h"
#include "../../core/base/mem.h"
#include "../../core/detour/threads.h"
#include "own.h"

uintptr_t tl_own_guard(uintptr_t key)
{
	const struct tl_thread *t = tl_core.env.threads;
	unsigned h = tl_thread_hash(key), i;

	for (i = 0; t && i < TL_THREAD_WINDOW; i++) {
		const struct tl_thread *e = &t[(h + i) & (TL_THREADS - 1)];

		if (TL_LOAD(&e->key) == key)
			return TL_LOAD(&e->guard);
	}
	return 0;
}
