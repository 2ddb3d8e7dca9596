/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/* What raising an event takes, in a process: home.h says what each does. */
#ifndef TRAPLESS_TRACE_PROCESS_H
#define TRAPLESS_TRACE_PROCESS_H

#include "../engine/os/process/process.h"
#include "../lib/readers.h"

static inline void *tl_trace_home_enter(void)
{
	return tl_readers_enter();
}

static inline void tl_trace_home_leave(void *mark)
{
	tl_readers_leave(mark);
}

static inline uint64_t tl_trace_home_time(void)
{
	return tl_machine_ticks();
}

/* By what the engine knows of threads' blocks, or a system call. */
static inline uint32_t tl_trace_home_thread(void)
{
	int32_t off = __atomic_load_n(&tl_tid_offset, __ATOMIC_RELAXED);

	return off ? tl_tcb_tid(tl_machine_thread(), off) : tl_gettid();
}

static inline size_t tl_trace_home_lane(void)
{
	const struct tl_reader *r = tl_reader_known(tl_machine_thread());

	return r ? (size_t)(r - tl_readers.slots) : TL_TRACE_NO_LANE;
}

static inline bool tl_trace_home_swap(uintptr_t *word, uintptr_t *old, uintptr_t new)
{
	return tl_machine_swap(word, old, new);
}

#endif
