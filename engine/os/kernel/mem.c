/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/* Ordinary memory. */
#include <linux/mm.h>
#include <linux/slab.h>
#include "kernel.h"

void *tl_os_alloc(size_t size)
{
	return kvzalloc(size, GFP_KERNEL);
}

void *tl_os_alloc_sparse(size_t size)
{
	return tl_os_alloc(size);
}

void tl_os_free(void *mem, size_t size)
{
	kvfree(mem);
}

/* A kernel does not fork. */
void *tl_os_alloc_wiped(void)
{
	return tl_os_alloc(PAGE_SIZE);
}

void tl_os_free_wiped(void *mem)
{
	kvfree(mem);
}

/* None: the kernel's unwinder, and our own look at stacks, know a task's one stack only. */
int tl_os_stacks_reserve(size_t count, size_t size, uintptr_t *base, size_t *stride)
{
	return -TL_E_LIMIT;
}

void tl_os_stacks_release(uintptr_t base, size_t count, size_t size)
{
}
