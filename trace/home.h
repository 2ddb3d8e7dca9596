/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/*
 * What the trace facility asks of where it is: a process (lib/trace.c), or a kernel (kmod/facility.c). What raising an event
 * takes is inline in process.h, or kernel.h.
 */
#ifndef TRAPLESS_TRACE_HOME_H
#define TRAPLESS_TRACE_HOME_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* May the caller sleep, and wait for those who listen? 0 or -TL_E_. Any context. */
int tl_trace_home_outside(void);

/* One lock for all that changes. Sleeps; never a second time, for who asks tl_trace_home_outside() before. */
void tl_trace_home_lock(void);
void tl_trace_home_unlock(void);

/*
 * From enter to leave what a list leads to stays; the mark is enter's result. Nests; any context. wait() returns when all
 * have left who were inside when it was called; sleeps, without the lock.
 */
static inline void *tl_trace_home_enter(void);
static inline void tl_trace_home_leave(void *mark);
void tl_trace_home_wait(void);

/* Somebody wants this event now, or nobody any more. The lock is held. 0, or -TL_E_: it cannot be had. */
int tl_trace_home_want(uint32_t event, bool wanted);

/* A word of the running program's stack. False: it cannot be read now. Any context. */
bool tl_trace_home_word(uintptr_t addr, uintptr_t *word);

/* Zeroed memory; NULL: there is none. Sleep. */
void *tl_trace_home_alloc(size_t size);
void tl_trace_home_free(void *mem, size_t size);

/* A clock that all threads share, and who runs. Any context. */
static inline uint64_t tl_trace_home_time(void);
static inline uint32_t tl_trace_home_thread(void);
/*
 * Between enter and leave: a number that nobody else has who runs, but those who interrupt him, and the compare-and-swap that
 * is enough between these. TL_TRACE_NO_LANE: there is none. Any context.
 */
#define TL_TRACE_NO_LANE ((size_t)-1)
static inline size_t tl_trace_home_lane(void);
static inline bool tl_trace_home_swap(uintptr_t *word, uintptr_t *old, uintptr_t new);

#ifdef __KERNEL__
#include "kernel.h"
#else
#include "process.h"
#endif

#endif
