/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/*
 * Text is never writable where it runs. To change it, its pages are mapped a
 * second time, writable and not executable, and unmapped when it is done.
 */
#include <linux/mm.h>
#include <linux/slab.h>
#include <linux/vmalloc.h>
#include "kernel.h"

static struct page *page_of(uintptr_t addr)
{
	if (addr >= (uintptr_t)tl_names.stext && addr < (uintptr_t)tl_names.etext)
		return pfn_to_page(__pa_symbol(addr) >> PAGE_SHIFT);
	return addr >= MODULES_VADDR && addr < MODULES_END ? vmalloc_to_page((void *)addr) : NULL;
}

int tl_alias_open_most(struct tl_alias *a, uintptr_t lo, uintptr_t hi, size_t most)
{
	unsigned int n, max, got = 0;
	struct page **pages;
	int ret = -TL_E_NOT_TEXT;

	lo &= PAGE_MASK;
	hi = PAGE_ALIGN(hi);
	n = (unsigned int)((hi - lo) >> PAGE_SHIFT);
	max = max(n, (unsigned int)(most >> PAGE_SHIFT));
	pages = kvmalloc_array(max, sizeof(*pages), GFP_KERNEL);
	if (!pages)
		return -TL_E_NOMEM;
	while (got < max && (pages[got] = page_of(lo + got * PAGE_SIZE)))
		got++;
	if (got < n)
		goto free;
	ret = -TL_E_NOMEM;
	a->map = vmap(pages, got, VM_MAP, PAGE_KERNEL);
	if (!a->map)
		goto free;
	a->lo = lo;
	a->hi = lo + got * PAGE_SIZE;
	ret = 0;
free:
	kvfree(pages);
	return ret;
}

int tl_alias_open(struct tl_alias *a, uintptr_t lo, uintptr_t hi)
{
	return tl_alias_open_most(a, lo, hi, 0);
}

void *tl_alias_at(const struct tl_alias *a, uintptr_t addr)
{
	return addr >= a->lo && addr < a->hi ? a->map + (addr - a->lo) : NULL;
}

void tl_alias_close(struct tl_alias *a)
{
	vunmap(a->map);
	*a = (struct tl_alias){0};
}
