/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/* Ordinary memory. */
#include "process.h"

#define HUGE_PAGE (2ul << 20)

/*
 * What lies within reach of a program's text is kept for detours: return
 * probes by the thousand take gigabytes of addresses. So ours lies far from
 * any text, as long as the kernel follows the hint, and somewhere else in each
 * process, as our own image does: below where position-independent programs
 * begin. Sanitizers refuse programs that have memory in most other places.
 */
static uintptr_t used;

static uintptr_t far_base(void)
{
	return 0x550000000000 + ((uintptr_t)&used & 0x3ffffff000);
}

static long map_far(size_t size, size_t align, int prot, int flags)
{
	uintptr_t at = far_base();

	at += __atomic_fetch_add(&used, size + align - TL_PAGE, __ATOMIC_RELAXED);
	at = (at + align - 1) & ~(align - 1);
	return tl_syscall6(TL_NR_mmap, (long)at, (long)size, prot,
		TL_MAP_PRIVATE | TL_MAP_ANONYMOUS | flags, -1, 0);
}

/*
 * Kept out of core dumps, which also keeps the kernel from merging it with a
 * neighbouring thread stack: tl_os_quiet() reads stacks to their mapping's end
 * and must not meet our own notes of what it looks for. Who asks for much is
 * going to use it: in huge pages, where there are any.
 */
static void *map_ours(size_t size, size_t align)
{
	long ret = map_far(tl_page_up(size), align, TL_PROT_READ | TL_PROT_WRITE, 0);

	if (tl_syscall_failed(ret))
		return NULL;
	if (tl_home_area_add((uintptr_t)ret, tl_page_up(size))) {
		tl_syscall3(TL_NR_munmap, ret, (long)tl_page_up(size), 0);
		return NULL;
	}
	tl_syscall3(TL_NR_madvise, ret, (long)tl_page_up(size), TL_MADV_DONTDUMP);
	return (void *)ret;
}

void *tl_os_alloc(size_t size)
{
	bool huge = size >= HUGE_PAGE;
	void *mem = map_ours(size, huge ? HUGE_PAGE : TL_PAGE);

	if (mem && huge)
		tl_syscall3(TL_NR_madvise, (long)mem, (long)(size & ~(HUGE_PAGE - 1)),
			TL_MADV_HUGEPAGE);
	return mem;
}

size_t tl_os_page_size(void)
{
	return 0;
}

void tl_os_page_stock(void)
{
}

void *tl_os_page_take(void)
{
	return NULL;
}

bool tl_os_page_give(void *page)
{
	(void)page;
	return false;
}

void tl_os_page_free(void *page)
{
	(void)page;
}

void *tl_os_alloc_sparse(size_t size)
{
	void *mem = map_ours(size, TL_PAGE);

	if (mem)
		tl_syscall3(TL_NR_madvise, (long)mem, (long)tl_page_up(size), TL_MADV_NOHUGEPAGE);
	return mem;
}

/* What was taken last leaves no hole: memory without holes is one mapping. */
static void use_again(uintptr_t at, size_t size)
{
	uintptr_t last = at + size - far_base();

	__atomic_compare_exchange_n(
		&used, &last, last - size, false, __ATOMIC_RELAXED, __ATOMIC_RELAXED);
}

void tl_os_free(void *mem, size_t size)
{
	size = tl_page_up(size);
	if (!mem)
		return;
	tl_home_area_drop((uintptr_t)mem);
	tl_syscall3(TL_NR_munmap, (long)mem, (long)size, 0);
	use_again((uintptr_t)mem, size);
}

void *tl_os_alloc_wiped(void)
{
	void *mem = tl_os_alloc(TL_PAGE);

	if (mem && tl_syscall3(TL_NR_madvise, (long)mem, TL_PAGE, TL_MADV_WIPEONFORK)) {
		tl_os_free(mem, TL_PAGE);
		return NULL;
	}
	return mem;
}

void tl_os_free_wiped(void *mem)
{
	tl_os_free(mem, TL_PAGE);
}

/* One mapping without access, in which the stacks are opened: the guards stay closed. */
int tl_os_stacks_reserve(size_t count, size_t size, uintptr_t *base, size_t *stride)
{
	size_t step = size + TL_PAGE, i;
	int err = tl_mappings_room(2 * count);
	long ret;

	if (err)
		return err;
	ret = map_far(count * step, TL_PAGE, TL_PROT_NONE, TL_MAP_NORESERVE);
	if (tl_syscall_failed(ret))
		return tl_mappings_why(-TL_E_NOMEM);
	for (i = 0; i < count; i++) {
		if (tl_syscall3(TL_NR_mprotect, ret + (long)(i * step + TL_PAGE), (long)size,
			    TL_PROT_READ | TL_PROT_WRITE)) {
			tl_syscall3(TL_NR_munmap, ret, (long)(count * step), 0);
			return tl_mappings_why(-TL_E_NOMEM);
		}
	}
	err = tl_home_area_add((uintptr_t)ret, count * step);
	if (err) {
		tl_syscall3(TL_NR_munmap, ret, (long)(count * step), 0);
		return err;
	}
	*base = (uintptr_t)ret + TL_PAGE;
	*stride = step;
	return 0;
}

void tl_os_stacks_release(uintptr_t base, size_t count, size_t size)
{
	tl_home_area_drop(base - TL_PAGE);
	tl_syscall3(TL_NR_munmap, (long)(base - TL_PAGE), (long)(count * (size + TL_PAGE)), 0);
}
