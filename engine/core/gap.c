/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/*
 * Code that no unwind entry covers, behind a function part that one covers: assembler leaves out what has no caller any
 * more (the system call that makes a thread). It is proven by what leads there: control falls out of the part, or a
 * jump of the part or of what is proven already leads on.
 */
#include "entries.h"

enum { GAP_MAX = 4096 };

static uintptr_t lower(uintptr_t a, uintptr_t b)
{
	return a < b ? a : b;
}

bool tl_gap_proves(struct tl_eh_table *t, uintptr_t addr, struct tl_func_part *part)
{
	size_t n = t->n ? tl_eh_upto(t, addr) : 0;
	uintptr_t start = n ? tl_eh_start(t, n - 1) : 0, next = tl_eh_start(t, n), end;
	size_t size = n ? tl_eh_size(t, n - 1) : 0, reached;
	const struct tl_code *code;

	if (!size || addr - start < size)
		return false;
	end = lower(next && next < t->img->hi ? next : t->img->hi, start + size + GAP_MAX);
	if (addr >= end || tl_func_walk(start, end - start, 0, &code))
		return false;
	reached = tl_arch_code_reached(code, size);
	if (addr - start >= reached)
		return false;
	*part = (struct tl_func_part){start, reached};
	return true;
}
