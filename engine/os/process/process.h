/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/*
 * Inside the process home. The same sources serve the own process and the
 * agent in a foreign one; what only the host of a home can answer is behind
 * the functions marked [home]: own_*.c and lib/ answer for the own process,
 * agent/ for the agent. So do tl_os_stop_all, tl_os_quiet, tl_os_trap_*,
 * tl_os_images_update, tl_os_thread_key, _id, _same, _layout, and tl_os_on_signal_stack of os.h.
 */
#ifndef TRAPLESS_ENGINE_OS_PROCESS_PROCESS_H
#define TRAPLESS_ENGINE_OS_PROCESS_PROCESS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "../os.h"
#include "syscall.h"

/* [home] Set up and take down what only this home has. 0 or -TL_E_. */
int tl_home_init(void);
void tl_home_exit(void);

/* A mapping, as the kernel lists it. */
struct tl_mapping {
	uintptr_t lo, hi;
	int prot; /* TL_PROT_ bits */
};

/* text.c: text that is open for writing, as it was before; engine lock, but for whoever comes after us. */
extern struct tl_opened {
	struct tl_mapping *maps;
	size_t n, max;
} tl_opened;

/* [home] The mapping that holds addr, or the next one above it. false: there is none, or it cannot be known. */
bool tl_home_map(uintptr_t addr, struct tl_mapping *map);

/*
 * [home] Copy, by one store of the machine's where n is 1, 2, 4 or a pointer's size and `to` is a multiple of it. -1: where the home is told
 * of faults, and there was one. Another faults.
 */
int tl_home_copy(uintptr_t to, uintptr_t from, size_t n);

/* Behind the program break, so much is left to the heap: less than a jump over the bytes of `nopw` leads. */
#define TL_HEAP_ROOM ((uintptr_t)448 << 20)

/*
 * [home] Before memory of ours is used, and before it is given back: for a home that keeps a list of it all, by which
 * others clean up. 0, or -TL_E_NOMEM: it cannot be listed, and is given back at once.
 */
int tl_home_area_add(uintptr_t lo, size_t size);
void tl_home_area_drop(uintptr_t lo);

/* [home] How many mappings the process has, now, and how many the kernel allows it. */
void tl_home_mappings(size_t *n, size_t *max);
/* mappings.c: so many are ours. */
size_t tl_code_mappings(void);
/* May there be `more` of ours? 0 or -TL_E_MAPPINGS. */
int tl_mappings_room(size_t more);
/* The program may have more or fewer by now. Engine lock held. */
void tl_mappings_forget(void);
/* Why the kernel had no memory: -TL_E_MAPPINGS, or `otherwise`. */
int tl_mappings_why(int otherwise);

/* mem.c: seal what tl_os_code_write() wrote; until then it may be not executable yet. 0 or -TL_E_. */
int tl_code_seal(void);

/* text.c: is the aligned 8-byte word at addr readable? Any context. */
bool tl_word_readable(uintptr_t addr);
/* text.c: pages found readable before may be gone now. Engine lock held. */
void tl_text_forget(void);

/* [home] Set before tl_os_init(), by tl_machine_init() or as who looks at the process from outside tells. */
extern bool tl_fsgsbase; /* the thread pointer's own register may be read */
extern bool tl_shadow_stack;
bool tl_shadow_status(void); /* of the calling thread */

/* sync.c, thread.c, called once by tl_os_init(). */
int tl_sync_init(void);
void tl_tcb_init(void);

/* thread.c: where the thread id lies behind the thread pointer; 0: not known, ask the kernel. */
extern int32_t tl_tid_offset;
/* The thread id does not lie where it was found: ask from now on. */
void tl_tcb_forget(void);
static inline uint32_t tl_tcb_tid(uintptr_t key, int32_t offset)
{
	return __atomic_load_n((uint32_t *)(key + (intptr_t)offset), __ATOMIC_RELAXED);
}
/* [home] The id that stands in the calling thread's block. */
uint32_t tl_home_tid(void);
/* As tl_os_on_signal_stack(), by system call. */
bool tl_on_signal_stack(void);

/* lock.c: the calling thread's id, by system call. */
uint32_t tl_gettid(void);

static inline uintptr_t tl_page_down(uintptr_t addr)
{
	return addr & ~(TL_PAGE - 1);
}

static inline uintptr_t tl_page_up(uintptr_t addr)
{
	return (addr + TL_PAGE - 1) & ~(TL_PAGE - 1);
}

#endif
