/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/*
 * The engine's record of a thread, found from the thread pointer by every
 * detour. Its layout is known to the ports' entry code.
 */
#ifndef TRAPLESS_ENGINE_CORE_THREAD_H
#define TRAPLESS_ENGINE_CORE_THREAD_H

#include <stdint.h>
#include <trapless/probe.h>

#ifndef TL_THREADS
#define TL_THREADS	65536 /* entries of the table, a power of two: twice as many as threads are served */
#endif
#define TL_THREAD_SHIFT 7 /* log2 of an entry's size */
#define TL_LOCALS	8

/*
 * In a kernel handlers run on records of processors, which are in no table, and a task's says where its calls are.
 *
 * key 0: free. A detour looks only at the entry its hash names; everything
 * else (another entry, first hit, stale guard, reused thread pointer) is the
 * slow path's work.
 */
struct tl_thread {
	uintptr_t key; /* thread pointer */
	uintptr_t guard; /* 0, or the interrupted stack pointer while a handler runs */
	uintptr_t stack; /* top of the private stack, 0: none yet */
	uint64_t nmissed; /* hits inside a handler */
	uint32_t tid;
	uint32_t gives; /* while a handler runs: tl_plan_gives() of the detour that calls it */
	const struct tl_arg_call *call; /* of an argument probe's handler, while it runs */
	uintptr_t awaited; /* its guard, when a grace period did not wait any longer */
	uintptr_t ret_at; /* where return probes have what is of this thread: TL_RET_STEP times its number, or 0 */
	void *local[TL_LOCALS];
};

/* No thread's: where the thread pointer leads to nothing that could be read. */
#define TL_THREAD_NO_KEY UINTPTR_MAX

/*
 * Fibonacci hashing of the thread pointer, by a number that fits into an
 * instruction; the ports' entry code does the same.
 */
#define TL_THREAD_HASH_MUL   0x61c88647u
#define TL_THREAD_HASH_SHIFT 32
static inline unsigned tl_thread_hash(uintptr_t key)
{
	return (unsigned)((uint64_t)key * TL_THREAD_HASH_MUL >> TL_THREAD_HASH_SHIFT) &
	       (TL_THREADS - 1);
}

/* Private page(s) that a fork child finds zeroed. */
struct tl_gate {
	uint32_t open;
};

#endif
