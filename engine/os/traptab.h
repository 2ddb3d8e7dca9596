/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/*
 * Breakpoint address -> detour, for homes whose threads trap inside their own
 * address space. traptab.c answers for tl_os_trap_remove and _allowed there.
 */
#ifndef TRAPLESS_ENGINE_OS_TRAPTAB_H
#define TRAPLESS_ENGINE_OS_TRAPTAB_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Engine lock held; 0 or -TL_E_NOMEM. */
int tl_traptab_set(uintptr_t addr, uintptr_t detour);
void tl_traptab_reset(void);
/* The home's: returns when no look-up goes on that began before. False: that cannot be known. */
bool tl_traptab_wait(void);

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

/* Any context, also a signal or trap handler. 0: none of ours. */
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

#endif
