/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/*
 * Inside the process home. The same sources serve the own process and the
 * agent in a foreign one; what only the host of a home can answer is behind
 * the functions marked [home]: own_*.c and lib/ answer for the own process,
 * agent/ for the agent. So do tl_os_stop_all, tl_os_quiet, tl_os_trap_*, and
 * tl_os_images_update of os.h.
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

/* [home] The mapping that holds addr, or the next one above it. false: there is none, or it cannot be known. */
bool tl_home_map(uintptr_t addr, struct tl_mapping *map);

/* mem.c: seal what tl_os_code_write() wrote; until then it may be not executable yet. 0 or -TL_E_. */
int tl_code_seal(void);

/* text.c: is the aligned 8-byte word at addr readable? Any context. */
bool tl_word_readable(uintptr_t addr);
/* text.c: pages found readable before may be gone now. Engine lock held. */
void tl_text_forget(void);

/* [home] Set before tl_os_init(): may rdfsbase be executed (AT_HWCAP2, bit 1)? */
extern bool tl_fsgsbase;

/* sync.c, thread.c, called once by tl_os_init(). */
int tl_sync_init(void);
void tl_tcb_init(void);

/* traptab.c: breakpoint address -> detour. Look-up in any context, also in a signal handler. */
int tl_traptab_set(uintptr_t addr, uintptr_t detour);
void tl_traptab_clear(uintptr_t addr);
void tl_traptab_reset(void);

struct tl_traptab_entry {
	uintptr_t addr; /* 0: never used; stays after removal */
	uintptr_t detour; /* 0: removed */
};
struct tl_traptab {
	uintptr_t mask; /* entries - 1 */
	size_t used; /* entries with an address */
	struct tl_traptab *older; /* kept for readers that may still be in it */
	size_t size; /* bytes of all this */
	struct tl_traptab_entry entry[];
};
extern struct tl_traptab *tl_traptab;

static inline size_t tl_traptab_hash(uintptr_t addr)
{
	return (size_t)(((uint64_t)addr * 0x9e3779b97f4a7c15ull) >> 32);
}

static inline uintptr_t tl_traptab_find(uintptr_t addr)
{
	const struct tl_traptab *tab = __atomic_load_n(&tl_traptab, __ATOMIC_ACQUIRE);
	size_t i;

	if (!tab)
		return 0;
	for (i = tl_traptab_hash(addr);; i++) {
		const struct tl_traptab_entry *e = &tab->entry[i & tab->mask];
		uintptr_t at = __atomic_load_n(&e->addr, __ATOMIC_ACQUIRE);

		if (at == addr)
			return __atomic_load_n(&e->detour, __ATOMIC_RELAXED);
		if (!at)
			return 0;
	}
}

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
