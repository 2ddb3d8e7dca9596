/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/*
 * Who is inside: stretches of code that walk a list which others change, without a lock and without an atomic addition.
 * Whoever changes the list waits until all have left who may have seen it as it was, and then frees.
 *
 * Each thread pointer has a slot with two words; by turns one of them is set by those who come, while the other one runs
 * empty. Who is inside already sets none. So nobody need register, and a thread that ends leaves nothing behind but the slot for the next one with its
 * thread pointer. Threads that share a thread pointer (a bare clone()) must not be inside at once.
 */
#ifndef TRAPLESS_LIB_READERS_H
#define TRAPLESS_LIB_READERS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "../engine/os/process/futex.h"
#include "../engine/os/process/syscall.h"

#ifndef TL_READER_BITS
#define TL_READER_BITS 12
#endif
enum { TL_READERS = 1 << TL_READER_BITS, TL_READER_LINE = 64 };

struct tl_reader {
	uintptr_t key; /* the thread pointer; 0: nobody's */
	uint32_t in[2]; /* 1: it is inside; of the shared one: how many are */
} __attribute__((aligned(TL_READER_LINE)));

/* Whole pages: a child by fork finds all of it zeroed, for the threads that were inside are not there. */
struct tl_readers {
	struct tl_reader slots[TL_READERS];
	uint32_t used[(TL_READERS + 31) / 32]; /* bits: slots that may have a key */
	struct tl_reader shared; /* of those that found none; counted by atomic additions */
	uint32_t turn; /* its lowest bit: which count takes those who come */
	struct tl_lock lock; /* of those who wait */
} __attribute__((aligned(4096)));
extern struct tl_readers tl_readers;
extern bool tl_readers_fenced; /* other threads cannot be made to fence: each does it itself */

/* Before the first one enters; again: nothing. Sleeps. */
void tl_readers_start(void);
/* Everyone who is inside when it is called has left. Who changes a list does that before. Sleeps; never from inside. */
void tl_readers_wait(void);
/* Does the calling thread stand inside? Of more threads than there are slots: does any of the others? Any context. */
bool tl_readers_inside(void);

struct tl_reader *tl_reader_find(uintptr_t key);
uint32_t *tl_readers_enter_slow(uintptr_t key);
void tl_readers_leave_shared(uint32_t *in);

static inline struct tl_reader *tl_reader_first(uintptr_t key)
{
	return &tl_readers.slots[(key * (uintptr_t)0x9e3779b97f4a7c15ull) >>
				 (8 * sizeof(key) - TL_READER_BITS)];
}

/* The slot of a thread that has been inside; NULL: it found none. Any context. */
static inline struct tl_reader *tl_reader_known(uintptr_t key)
{
	struct tl_reader *r = tl_reader_first(key);

	return __atomic_load_n(&r->key, __ATOMIC_RELAXED) == key ? r : tl_reader_find(key);
}

/*
 * Alone the calling thread writes it. A signal handler in between leaves it as it found it. Nothing that is stored depends on
 * what was loaded: an addition would wait for the one before.
 */
static inline uint32_t *tl_reader_enter(struct tl_reader *r)
{
	uint32_t *in = &r->in[__atomic_load_n(&tl_readers.turn, __ATOMIC_RELAXED) & 1];

	if (__atomic_load_n(&r->in[0], __ATOMIC_RELAXED) |
		__atomic_load_n(&r->in[1], __ATOMIC_RELAXED))
		return NULL;
	__atomic_store_n(in, 1, __ATOMIC_RELAXED);
	if (__atomic_load_n(&tl_readers_fenced, __ATOMIC_RELAXED))
		__atomic_thread_fence(__ATOMIC_SEQ_CST);
	__atomic_signal_fence(__ATOMIC_SEQ_CST);
	return in;
}

/* From here on what a list leads to stays. Nests; any context. The result, which may be NULL, is for tl_readers_leave(). */
static inline uint32_t *tl_readers_enter(void)
{
	uintptr_t key = tl_machine_thread();
	struct tl_reader *r = tl_reader_first(key);

	if (__builtin_expect(__atomic_load_n(&r->key, __ATOMIC_RELAXED) != key, 0))
		return tl_readers_enter_slow(key);
	return tl_reader_enter(r);
}

/* Until here. In a child that was forked inside nothing is set any more. */
static inline void tl_readers_leave(uint32_t *in)
{
	if (!in)
		return;
	if (__builtin_expect(in >= tl_readers.shared.in, 0))
		tl_readers_leave_shared(in);
	else
		__atomic_store_n(in, 0, __ATOMIC_RELEASE);
}

#endif
