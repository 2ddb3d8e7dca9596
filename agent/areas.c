/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/*
 * A list of all memory that the engine maps in the target, kept in the control
 * block: a fork child is cleaned by it, and what a dead session left. The
 * linker puts these between the engine and the home (--wrap).
 */
#include "agent.h"

void *__real_tl_os_alloc(size_t size);
void *__real_tl_os_alloc_sparse(size_t size);
void __real_tl_os_free(void *mem, size_t size);
void *__real_tl_os_alloc_wiped(void);
void __real_tl_os_free_wiped(void *mem);
int __real_tl_os_stacks_reserve(size_t count, size_t size, uintptr_t *base, size_t *stride);
void __real_tl_os_stacks_release(uintptr_t base, size_t count, size_t size);
int __real_tl_os_code_reserve(uintptr_t lo, uintptr_t hi, size_t size, uintptr_t *at);
void __real_tl_os_code_release(uintptr_t at, size_t size);

void *__wrap_tl_os_alloc(size_t size);
void *__wrap_tl_os_alloc_sparse(size_t size);
void __wrap_tl_os_free(void *mem, size_t size);
void *__wrap_tl_os_alloc_wiped(void);
void __wrap_tl_os_free_wiped(void *mem);
int __wrap_tl_os_stacks_reserve(size_t count, size_t size, uintptr_t *base, size_t *stride);
void __wrap_tl_os_stacks_release(uintptr_t base, size_t count, size_t size);
int __wrap_tl_os_code_reserve(uintptr_t lo, uintptr_t hi, size_t size, uintptr_t *at);
void __wrap_tl_os_code_release(uintptr_t at, size_t size);

enum { PAGE = 4096 };

/* What is not on the list would stay for ever. */
static int area_add(uintptr_t lo, size_t size)
{
	size = (size + PAGE - 1) & ~(size_t)(PAGE - 1);
	return tl_ctl_area_add(tl_ctl, lo, size, false) ? -TL_E_NOMEM : 0;
}

static void area_drop(uintptr_t lo)
{
	tl_ctl_area_drop(tl_ctl, lo);
}

static void *listed(void *mem, size_t size)
{
	if (mem && area_add((uintptr_t)mem, size)) {
		__real_tl_os_free(mem, size);
		return NULL;
	}
	return mem;
}

void *__wrap_tl_os_alloc(size_t size)
{
	return listed(__real_tl_os_alloc(size), size);
}

void *__wrap_tl_os_alloc_sparse(size_t size)
{
	return listed(__real_tl_os_alloc_sparse(size), size);
}

void __wrap_tl_os_free(void *mem, size_t size)
{
	if (mem)
		area_drop((uintptr_t)mem);
	__real_tl_os_free(mem, size);
}

void *__wrap_tl_os_alloc_wiped(void)
{
	void *mem = __real_tl_os_alloc_wiped();

	if (mem && area_add((uintptr_t)mem, PAGE)) {
		__real_tl_os_free_wiped(mem);
		return NULL;
	}
	return mem;
}

void __wrap_tl_os_free_wiped(void *mem)
{
	area_drop((uintptr_t)mem);
	__real_tl_os_free_wiped(mem);
}

int __wrap_tl_os_stacks_reserve(size_t count, size_t size, uintptr_t *base, size_t *stride)
{
	int ret = __real_tl_os_stacks_reserve(count, size, base, stride);

	if (!ret && (ret = area_add(*base - PAGE, count * (size + PAGE))))
		__real_tl_os_stacks_release(*base, count, size);
	return ret;
}

void __wrap_tl_os_stacks_release(uintptr_t base, size_t count, size_t size)
{
	area_drop(base - PAGE);
	__real_tl_os_stacks_release(base, count, size);
}

int __wrap_tl_os_code_reserve(uintptr_t lo, uintptr_t hi, size_t size, uintptr_t *at)
{
	int ret = __real_tl_os_code_reserve(lo, hi, size, at);

	if (!ret && (ret = area_add(*at, size)))
		__real_tl_os_code_release(*at, size);
	return ret;
}

void __wrap_tl_os_code_release(uintptr_t at, size_t size)
{
	area_drop(at);
	__real_tl_os_code_release(at, size);
}
