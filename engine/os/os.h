/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/*
 * The environment contract: what the engine's core asks of the system it runs
 * in. Three implementations: process (own process and agent), linux (kernel
 * module), fake (deterministic, for unit tests).
 *
 * Context of all functions unless said otherwise: may sleep, engine lock held
 * by the caller, never from a handler. Results: 0 or more, or -TL_E_.
 */
#ifndef TRAPLESS_ENGINE_OS_H
#define TRAPLESS_ENGINE_OS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <trapless/error.h>

struct tl_regs;
struct tl_site;
struct tl_thread;

/* Set up whatever the rest needs (membarrier registration, page size ...). */
int tl_os_init(void);
void tl_os_exit(void);

/* --- memory -------------------------------------------------------------- */

/* Zeroed ordinary memory, page granular. Returns NULL when there is none. */
void *tl_os_alloc(size_t size);
/* The same, of which little will be touched: in small pages. */
void *tl_os_alloc_sparse(size_t size);
void tl_os_free(void *mem, size_t size);
/*
 * Where sparse memory is not sparse: pages for handlers, zeroed when they are had and when they are given back. Any context.
 * Size 0: there are none, and none is needed.
 */
size_t tl_os_page_size(void);
void tl_os_page_stock(void); /* some are, if there is any memory. Sleeps */
void *tl_os_page_take(void); /* NULL: none is in stock */
bool tl_os_page_give(void *page); /* false: the stock has no room for it */
void tl_os_page_free(void *page); /* may sleep */
/* One zeroed private page that a fork child finds zeroed again (the gate). NULL: none. */
void *tl_os_alloc_wiped(void);
void tl_os_free_wiped(void *mem);
/*
 * Room for `count` stacks of `size` bytes (a multiple of the page size), each
 * with a guard page below it, touched memory only; stack i is
 * [*base + i * *stride, + size). -TL_E_NOMEM.
 */
int tl_os_stacks_reserve(size_t count, size_t size, uintptr_t *base, size_t *stride);
void tl_os_stacks_release(uintptr_t base, size_t count, size_t size);

/*
 * Reserve address space for detours somewhere in [lo, hi), clear of heap and
 * stack growth. The result is readable and executable once written through
 * tl_os_code_write(); never writable and executable at once.
 */
int tl_os_code_reserve(uintptr_t lo, uintptr_t hi, size_t size, uintptr_t *at);
/* Can it be had at a wanted place? Where not, detours lie anywhere in reach, and rungs that need a place are out. */
bool tl_os_code_at_will(void);
int tl_os_code_write(uintptr_t at, const void *bytes, size_t len);
void tl_os_code_release(uintptr_t at, size_t size);
/* How many mappings all of it makes at most, and may make. 0, 0: they are not limited. */
void tl_os_code_mappings(size_t *n, size_t *max);

/* --- text ---------------------------------------------------------------- */

/* Copy text; never faults. Returns the number of bytes copied. */
size_t tl_os_text_read(uintptr_t addr, void *buf, size_t len);
/* Whoever else waits for this processor may have it: said once a stretch by what reads much. Nothing where that comes by itself. */
void tl_os_resched(void);
/* The first stretch of executable memory at or above addr, from addr on; between segments there may be none. */
bool tl_os_text_next(uintptr_t addr, uintptr_t *lo, uintptr_t *hi);

/*
 * A batch of text changes: open the range once, write many, close. While open
 * the text stays executable. store() is one single store the machine does
 * whole (len 1, 2, 4 or a pointer's size, naturally aligned), or a plain copy otherwise. 0, or
 * -TL_E_TEXT_RO: the program has protected it meanwhile. again() opens a part of
 * the range once more, or tells -TL_E_TEXT_RO: it is not there any more.
 */
int tl_os_text_open(uintptr_t lo, uintptr_t hi);
int tl_os_text_store(uintptr_t addr, const void *bytes, size_t len);
int tl_os_text_again(uintptr_t lo, uintptr_t hi);
void tl_os_text_close(uintptr_t lo, uintptr_t hi);

/*
 * Past a protection that the program has given its text: neither needs the range open, and no thread may be running
 * there. peek: the number of bytes copied, 0 where nothing is mapped, or -TL_E_TEXT_RO: it cannot be known. poke: all or
 * -TL_E_TEXT_RO.
 */
int tl_os_text_peek(uintptr_t addr, void *buf, size_t len);
int tl_os_text_poke(uintptr_t addr, const void *bytes, size_t len);

/*
 * Do others change bytes of [lo, hi) too, or must they stay as they are? 0, or
 * -TL_E_RESERVED / -TL_E_BLACKLIST / -TL_E_NO_RELOCATE. A kernel knows such places, a process does not. While the
 * text is open the answer stays true until it is closed.
 */
int tl_os_text_reserved(uintptr_t lo, uintptr_t hi);
/*
 * Has somebody else a breakpoint in [lo, hi), armed or not, who will put back, or go on by, the bytes that he found there?
 * While the text is open the answer stays true.
 */
bool tl_os_text_borrowed(uintptr_t lo, uintptr_t hi);

/*
 * Calls fn for each place in [lo, hi) where control arrives by ways that only this home knows: a kernel's jump labels,
 * and where it goes on when an instruction has faulted. 0, -TL_E_NOMEM, or -TL_E_LIMIT: there may be others.
 */
int tl_os_text_entries(
	uintptr_t lo, uintptr_t hi, void (*fn)(void *arg, uintptr_t at), void *arg);
/* Does what lies there do nothing but return (a kernel's return thunk)? */
bool tl_os_text_returns(uintptr_t addr);

/* What lies there does nothing but jump by a register (a kernel's retpoline): its number, as the machine has it; -1: not so. */
int tl_os_text_jumps_by(uintptr_t addr);

/*
 * How many bytes at a function's entry are not its own, so that a probe stands behind them: in a kernel ENDBR and
 * ftrace's call.
 */
unsigned tl_os_entry_bytes(uintptr_t addr);

/* Every processor running this address space has executed a serializing instruction since. */
int tl_os_sync_cores(void);
/* Every thread has executed a full memory barrier since. */
int tl_os_sync_memory(void);

/* --- other threads ------------------------------------------------------- */

/*
 * Stop every other thread, call fn for each program counter found (the thread's own
 * and each interrupted one saved on its stack in a signal frame), restart.
 * fn returns the program counter to go on at (the same: no change), or 0: this thread may
 * not be where it is. Returns 0 with `done` called while all are stopped;
 * -TL_E_BUSY when fn returned 0 for one (done not called, nothing moved). Where threads cannot be moved, it is BUSY for
 * each that should be, and `stuck` is called for all of these.
 */
struct tl_os_stop {
	uintptr_t (*pc)(void *arg, uintptr_t pc, bool saved);
	void (*stuck)(void *arg, uintptr_t pc);
	/* Runs while everyone is stopped: must not call back into the os except tl_os_text_* */
	void (*done)(void *arg);
	void *arg;
};
int tl_os_stop_all(const struct tl_os_stop *stop);
/*
 * Does anything run text while all are stopped (a kernel's NMIs)? Where it does, and within done(): returns when
 * whatever of that kind ran has ended, and everyone's core is synced. Elsewhere it only answers.
 */
bool tl_os_stop_sync(void);

/*
 * Does any thread stand in, or hold on its stack an address of, [lo, hi)?
 * 0: nobody (sure). -TL_E_BUSY: somebody, or it cannot be known now.
 */
int tl_os_quiet(uintptr_t lo, uintptr_t hi);
/*
 * For many such questions at once: every address in [lo, hi) that any thread
 * stands at or holds on its stack, in no order. see() runs while everyone is
 * stopped. -TL_E_BUSY: it cannot be known now. -TL_E_LIMIT: there are too
 * many, or this home answers tl_os_quiet() only.
 */
int tl_os_seen(uintptr_t lo, uintptr_t hi, void (*see)(void *arg, uintptr_t addr), void *arg);

static inline void tl_os_note_any(void *arg, uintptr_t addr)
{
	(void)addr;
	*(bool *)arg = true;
}

/* tl_os_quiet(), for homes that have tl_os_seen(). */
static inline int tl_os_quiet_by_seen(uintptr_t lo, uintptr_t hi)
{
	bool any = false;
	int ret = tl_os_seen(lo, hi, tl_os_note_any, &any);

	return any ? -TL_E_BUSY : ret;
}

/* A thread's stack pointer, and the memory that it lies in. sp 0: forget it, the thread was asleep and has run meanwhile. */
struct tl_os_stack {
	uint32_t tid;
	uintptr_t sp, lo, hi;
};
/* see() for the calling thread, where it has a stack of the program's, and all others, while each stands still. As above. */
int tl_os_stacks(void (*see)(void *arg, const struct tl_os_stack *s), void *arg);

/* Can a passing breakpoint be hit here by a thread with the trap signal blocked? false only when that is excluded. */
bool tl_os_trap_may_kill(void);
/*
 * May a thread be held in a jump to itself while cores are synced? Not where threads run with interrupts
 * off: they would never answer. Then passing breakpoints are used in its place.
 */
bool tl_os_spin_ok(void);
/* Does the processor keep return addresses a second time here? Then only calls that stand in the text can be returned from. */
bool tl_os_shadow_stack(void);
/* May probes stay on the trap rung in this environment? 0 or -TL_E_TRAP_FORBIDDEN. */
int tl_os_trap_allowed(void);
/*
 * From now on (until removed) a thread that hits the breakpoint at `addr` goes
 * on at `detour`. Called before the trap byte is written / after it is gone and synced.
 * Adding an address that is there already changes where it leads, in one store.
 */
int tl_os_trap_add(uintptr_t addr, uintptr_t detour);
void tl_os_trap_remove(uintptr_t addr);

/* The engine lock: sleeps, recursive use is a bug. */
void tl_os_lock(void);
void tl_os_unlock(void);
bool tl_os_lock_held(void);
/*
 * The optimizer has work: tl_optimizer_run() will be called in a while, again
 * as long as it asks for it, by a thread that may sleep. false: there is none
 * here, and the core works its queue off at once.
 */
bool tl_os_later(void);
/* Wait a little for other threads (grace periods). */
void tl_os_pause(unsigned microseconds);

/* --- threads, from a handler: no system calls on the fast path ------------ */

/* Thread pointer as the detour reads it (early: by the way that never faults). Any context. */
uintptr_t tl_os_thread_key(bool early);
/* Thread id; may make one system call, once a thread. Any context. */
uint32_t tl_os_thread_id(uintptr_t key);
/* Is the record for (key, tid) still the thread that runs now? Any context. */
bool tl_os_thread_same(uintptr_t key, uint32_t tid);
/* For struct tl_detour_env: where the thread id lies behind the thread pointer (0: not known), and its fast_key. */
void tl_os_thread_layout(int32_t *tid_offset, bool *fast_key);
/*
 * Where handlers cannot leave their processor, records are the processors': all of them, and what detours call (struct
 * tl_detour_env). NULL: they are threads' here.
 */
struct tl_thread *tl_os_contexts(
	unsigned *n, int (**hit)(struct tl_site *site, struct tl_regs *regs, uint32_t gives));
/* Of the handler that calls this; NULL: no handler does. */
struct tl_thread *tl_os_context(void);
/* Does a thread of this id still exist in this process? May sleep; not from a handler. */
bool tl_os_thread_alive(uint32_t tid);
/* May handlers use vector registers, if those of the program are saved? A kernel's may not. Any context. */
bool tl_os_vectors(void);
/* Does the calling thread run on its alternate signal stack? One system call. Any context. */
bool tl_os_on_signal_stack(void);

/* --- images: executable mappings of files ------------------------------- */

struct tl_image;
/* (Re)read the list of mapped images; the core calls this when an address is in none it knows. */
int tl_os_images_update(void);
/* Calls fn for each function in [lo, hi), in order, of an image that is TL_IMAGE_LISTED; without padding. */
void tl_os_functions(uintptr_t lo, uintptr_t hi,
	void (*fn)(void *arg, uintptr_t start, uintptr_t end), void *arg);
/* May an image have been unmapped since then? Cheap: asked at the start of every operation. */
bool tl_os_images_stale(void);

#endif
