/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/*
 * Breakpoint address -> detour. Writers hold the engine lock; readers are
 * trap handlers and take none: an entry's address, once set, stays, and a
 * table that was outgrown is kept until the engine leaves, where it cannot be
 * known that nobody reads it any more. That is at most some 64 bytes for each
 * address that ever held a breakpoint.
 */
#include "os.h"
#include "traptab.h"

enum { FIRST_ENTRIES = 1024 };

struct tl_traptab *tl_traptab;

static struct tl_traptab_entry *slot_for(struct tl_traptab *tab, uintptr_t addr)
{
	size_t i = tl_traptab_hash(addr);

	while (tab->entry[i & tab->mask].addr && tab->entry[i & tab->mask].addr != addr)
		i++;
	return &tab->entry[i & tab->mask];
}

/* Detour first: whoever sees the address sees it. */
static void put(struct tl_traptab *tab, uintptr_t addr, uintptr_t detour)
{
	struct tl_traptab_entry *e = slot_for(tab, addr);

	__atomic_store_n(&e->detour, detour, __ATOMIC_RELEASE);
	if (!e->addr)
		tab->used++;
	__atomic_store_n(&e->addr, addr, __ATOMIC_RELEASE);
}

/* A fresh table with room for what lives in the old one, removed entries dropped. */
static int grow(void)
{
	struct tl_traptab *old = tl_traptab, *tab;
	size_t live = 0, entries = FIRST_ENTRIES, size, i;

	for (i = 0; old && i <= old->mask; i++)
		live += old->entry[i].detour != 0;
	while (entries < 4 * (live + 1))
		entries *= 2;
	size = sizeof(*tab) + entries * sizeof(tab->entry[0]);
	tab = tl_os_alloc(size);
	if (!tab)
		return -TL_E_NOMEM;
	tab->mask = entries - 1;
	tab->size = size;
	tab->older = old;
	for (i = 0; old && i <= old->mask; i++) {
		if (old->entry[i].detour)
			put(tab, old->entry[i].addr, old->entry[i].detour);
	}
	__atomic_store_n(&tl_traptab, tab, __ATOMIC_RELEASE);
	if (old && tl_traptab_wait()) {
		tab->older = old->older;
		tl_os_free(old, old->size);
	}
	return 0;
}

int tl_traptab_set(uintptr_t addr, uintptr_t detour)
{
	if (!tl_traptab || 2 * (tl_traptab->used + 1) > tl_traptab->mask + 1) {
		int ret = grow();

		if (ret)
			return ret;
	}
	put(tl_traptab, addr, detour);
	return 0;
}

void tl_os_trap_remove(uintptr_t addr)
{
	struct tl_traptab_entry *e;

	if (!tl_traptab)
		return;
	e = slot_for(tl_traptab, addr);
	if (e->addr == addr)
		__atomic_store_n(&e->detour, 0, __ATOMIC_RELEASE);
}

int tl_os_trap_allowed(void)
{
	return 0;
}

/* Only when no thread can be inside a look-up any more. */
void tl_traptab_reset(void)
{
	struct tl_traptab *tab = tl_traptab;

	__atomic_store_n(&tl_traptab, NULL, __ATOMIC_RELEASE);
	while (tab) {
		struct tl_traptab *older = tab->older;

		tl_os_free(tab, tab->size);
		tab = older;
	}
}
