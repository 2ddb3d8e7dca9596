/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/* Functions as kallsyms knows them, and how else control comes into them. */
#include <linux/sched.h>
#include "../../arch/arch.h"
#include "../../core/image/image.h"
#include "kernel.h"
#include "machine.h"

/* What fills up behind a function is none of it: control would seem to run into those breakpoints. */
static uintptr_t without_filling(uintptr_t start, uintptr_t end)
{
	enum { AT_ONCE = 16 };
	uint8_t trap[TL_WORD_MAX], text[AT_ONCE];
	size_t len = tl_arch_trap_insn(trap), n;

	do {
		n = min(AT_ONCE / len, (end - start - 1) / len) * len;
		if (tl_os_text_read(end - n, text, n) != n)
			break;
		for (; n && !memcmp(text + n - len, trap, len); n -= len)
			end -= len;
	} while (!n && end - start > len);
	return end;
}

/* One after the other: kallsyms has no gaps, but for what may stand in front of a module's first. */
void tl_os_functions(uintptr_t lo, uintptr_t hi,
	void (*fn)(void *arg, uintptr_t start, uintptr_t end), void *arg)
{
	unsigned long size, offset;

	while (lo < hi) {
		uintptr_t end;

		if (!tl_names.kallsyms_lookup_size_offset(lo, &size, &offset) || offset >= size) {
			lo++;
			continue;
		}
		end = min(lo - offset + size, hi);
		fn(arg, lo, without_filling(lo, end));
		cond_resched();
		lo = end;
	}
}

bool tl_os_text_returns(uintptr_t addr)
{
	return tl_names.return_thunk && addr == *tl_names.return_thunk;
}

int tl_os_text_jumps_by(uintptr_t addr)
{
	return tl_names.retpolines ? tl_machine_retpoline(tl_names.retpolines, addr) : -1;
}

int tl_os_text_entries(uintptr_t lo, uintptr_t hi, void (*fn)(void *arg, uintptr_t at), void *arg)
{
	int ret = tl_marks_read();

	cond_resched(); /* once a function that is looked at */
	if (ret)
		return ret;
	tl_marks_each(TL_MARK_ENTRY, lo, hi, fn, arg);
	/* An optimized one's jump hides instructions: what follows it may be taken for others than there are. */
	return tl_marked(TL_MARK_KPROBE, lo, hi) ? -TL_E_LIMIT : 0;
}
