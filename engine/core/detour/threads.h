/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/* What is done with the records of threads. */
#ifndef TRAPLESS_ENGINE_CORE_DETOUR_THREADS_H
#define TRAPLESS_ENGINE_CORE_DETOUR_THREADS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include "thread.h"

struct tl_site;

#define TL_BIG_STACK	 (64 * 1024)
#define TL_STACKS	 256 /* private stacks in one pool */
#define TL_STACK_POOLS	 16
#define TL_SPARE_STACKS	 64 /* for threads to come */
#define TL_THREAD_WINDOW 64 /* entries looked at from the one the hash names */

/* Who keeps something of threads is told that one is gone: engine lock held. */
void tl_threads_tell_gone(void (*fn)(struct tl_thread *t));
int tl_threads_init(void);
/* The table is there, which a kernel has for return probes alone. Engine lock held. */
int tl_threads_want_table(void);
void tl_threads_deinit(void);
/* At least one probe needs private stacks: have some in stock. Engine lock held. */
int tl_threads_want_stacks(void);
/*
 * There are so many threads now, as the home counts them: stacks for all of them,
 * if any probe needs one. Says up to how many more need not be asked for; 0: any
 * number, or no more can be had. Sleeps.
 */
unsigned tl_threads_more(unsigned nthreads);
/* The calling thread's record if it has one, whoever had it before. Any context. */
struct tl_thread *tl_thread_known(void);
/*
 * Whoever's calls these are in a handler on record `self`: that is its thread's, or in a kernel that of the task or the
 * interrupt, which has one in the table then. NULL: it has none; `make`: nor is there room for one.
 */
struct tl_thread *tl_thread_with_calls(struct tl_thread *self, bool make);
/* Take back records of threads that are gone. Engine lock held. */
void tl_threads_sweep(void);
void tl_threads_forget(
	unsigned slot); /* what handlers keep there, in all threads; none of them runs */
/*
 * The detour's slow path: called on the interrupted thread's stack when its
 * fast check fails (other key or tid in the hashed entry, guard not 0, or the
 * detour uses a private stack and the entry has none). Returns the thread's
 * record with its guard free, or NULL: run no handler (already counted). The
 * detour sets the guard to sp, reads site->current only after that, and clears
 * the guard when the handler is done.
 */
struct tl_thread *tl_thread_enter_slow(struct tl_site *site, uintptr_t sp, uintptr_t key);
/*
 * What `current` pointed at before is out of use: every handler that may have
 * seen it has ended. quiet(arg) tells that nobody is inside the detours
 * concerned, so that a guard still set is a stale one. Sleeps. -TL_E_BUSY: some
 * handler runs on, and tl_core.patience is over.
 */
int tl_threads_grace(bool (*quiet)(void *arg), void *arg);
/* Those handlers have ended, too. Engine lock held. */
bool tl_threads_settled(void);
/* An object of the arena: what handlers may use that run on stays, for as long as our memory does. */
void tl_put_late(void *obj);

#endif
