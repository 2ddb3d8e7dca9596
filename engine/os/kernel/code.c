/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/*
 * Memory for detours: where the kernel puts modules, which reaches all of its
 * text and theirs. Read-only and executable from the start; written through an
 * alias, which stays until the operation ends: to map one takes longer than to
 * make a detour.
 */
#include <linux/string.h>
#include "../../arch/arch.h"
#include "kernel.h"

enum { AREA_MAX = 256 << 10 }; /* not sparse: whatever is reserved is taken */

void *tl_text_alloc(size_t size)
{
#ifdef TL_EXECMEM
	return tl_names.execmem_alloc(EXECMEM_MODULE_TEXT, size);
#else
	return tl_names.module_alloc(size);
#endif
}

void tl_text_free(void *mem)
{
#ifdef TL_EXECMEM
	tl_names.execmem_free(mem);
#else
	tl_names.module_memfree(mem);
#endif
}

/* Breakpoints all over: nobody goes there. */
static void fill(uint8_t *mem, size_t size)
{
	uint8_t trap[TL_WORD_MAX];
	size_t len = tl_arch_trap_insn(trap);

	memcpy(mem, trap, len);
	for (size_t n = len; n < size; n *= 2)
		memcpy(mem + n, mem, min(n, size - n));
}

static bool seal(void *mem, size_t size)
{
	int pages = (int)(PAGE_ALIGN(size) >> PAGE_SHIFT);

	fill(mem, size);
	return !tl_names.set_memory_ro((unsigned long)mem, pages) &&
	       !tl_names.set_memory_x((unsigned long)mem, pages);
}

int tl_os_code_reserve(uintptr_t lo, uintptr_t hi, size_t size, uintptr_t *at)
{
	int ret = -TL_E_OUT_OF_REACH;
	void *mem;

	if (size > AREA_MAX)
		return -TL_E_LIMIT; /* the core asks again for less */
	mem = tl_text_alloc(size);
	if (!mem)
		return -TL_E_NOMEM;
	if ((uintptr_t)mem < lo || (uintptr_t)mem + size > hi)
		goto free;
	ret = -TL_E_NOMEM;
	if (!seal(mem, size))
		goto free;
	*at = (uintptr_t)mem;
	return 0;
free:
	tl_text_free(mem);
	return ret;
}

/* The kernel chooses. */
bool tl_os_code_at_will(void)
{
	return false;
}

static struct tl_alias alias; /* of an area; engine lock */

void tl_code_seal(void)
{
	if (alias.hi)
		tl_alias_close(&alias);
}

/* One that holds [lo, hi), and what else of the area comes behind. */
static int open_alias(uintptr_t lo, uintptr_t hi)
{
	if (lo >= alias.lo && hi <= alias.hi)
		return 0;
	tl_code_seal();
	return tl_alias_open_most(&alias, lo, hi, AREA_MAX);
}

/* Nothing leads to these bytes yet. */
int tl_os_code_write(uintptr_t at, const void *bytes, size_t len)
{
	int ret = open_alias(at, at + len);

	if (!ret)
		memcpy(tl_alias_at(&alias, at), bytes, len);
	return ret;
}

void tl_os_code_mappings(size_t *n, size_t *max)
{
	*n = *max = 0;
}

void tl_os_code_release(uintptr_t at, size_t size)
{
	tl_code_seal();
	tl_text_free((void *)at);
}
