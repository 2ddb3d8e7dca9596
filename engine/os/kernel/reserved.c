/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/*
 * Text that is not ours to change: what the kernel's own modifiers have
 * marked, what may not be interrupted by a probe, and what cannot run
 * elsewhere.
 */
#include <linux/kallsyms.h>
#include <linux/string.h>
#include "kernel.h"
#include "machine.h"

enum { LOOK_MAX = 64 };

/* What was asked last: whole functions are refused or not, and asked about again and again. Engine lock. */
static struct {
	uintptr_t lo, hi;
	bool refused;
} last;
static bool kprobes_known; /* as of this operation */

void tl_reserved_begin(void)
{
	last.hi = last.lo = 0;
	kprobes_known = false;
}

/* NAME.cold, NAME.isra.0: it goes with NAME. */
static bool belongs_to_marked(uintptr_t addr)
{
	char name[KSYM_NAME_LEN];
	const char *dot;

	if (tl_names.lookup_symbol_name(addr, name))
		return false;
	dot = strchr(name, '.');
	return dot && dot != name && tl_marked_name(name, dot - name);
}

static bool function_refused(uintptr_t addr)
{
	unsigned long size, offset;

	if (addr >= last.lo && addr < last.hi)
		return last.refused;
	if (!tl_names.kallsyms_lookup_size_offset(addr, &size, &offset))
		return false;
	last.lo = addr - offset;
	last.hi = last.lo + size;
	last.refused = tl_names.arch_within_kprobe_blacklist(addr) || belongs_to_marked(addr);
	return last.refused;
}

/* Entry code, noinstr text, and what else the kernel says may not be probed. */
static bool blacklisted(uintptr_t lo, uintptr_t hi)
{
	return tl_marked(TL_MARK_NEVER, lo, hi) || function_refused(lo) || function_refused(hi - 1);
}

/* An ENDBR that is overwritten is a fault at the next indirect branch to it; and the kernel looks for what it has put there. */
static bool holds_endbr(uintptr_t lo, uintptr_t hi)
{
	uint8_t buf[LOOK_MAX + 2 * ENDBR_LEN];
	/* Functions are aligned: none begins on the page before. */
	size_t before = min((size_t)(ENDBR_LEN - 1), (size_t)offset_in_page(lo));
	size_t n = before + (hi - lo) + ENDBR_LEN - 1;

	n = tl_os_text_read(lo - before, buf, n);
	for (size_t i = 0; i + ENDBR_LEN <= n; i++)
		if (tl_machine_endbr(buf + i))
			return true;
	return false;
}

/* Those marks change while we plan. So they are read once an operation, and once more when nobody can add any. */
static int read_marks(void)
{
	int ret = tl_marks_read();

	if (!ret && !kprobes_known)
		ret = tl_kprobes_read();
	kprobes_known = !ret;
	return ret;
}

int tl_os_text_reserved(uintptr_t lo, uintptr_t hi)
{
	int ret = tl_text_is_open() ? 0 : read_marks();

	if (ret)
		return ret;
	if (hi - lo > LOOK_MAX || blacklisted(lo, hi) || holds_endbr(lo, hi))
		return -TL_E_BLACKLIST;
	if (tl_marked(TL_MARK_CHANGED, lo, hi) || tl_marked(TL_MARK_KPROBE, lo, hi) ||
		tl_marked_smp_lock(lo, hi))
		return -TL_E_RESERVED;
	if (tl_names.ftrace_text_reserved &&
		tl_names.ftrace_text_reserved((void *)lo, (void *)(hi - 1)))
		return -TL_E_RESERVED;
	/* Where a copy of it faulted, the kernel would not find where to go on. */
	return tl_marked(TL_MARK_FAULTS, lo, hi) && !tl_faults_followed() ? -TL_E_NO_RELOCATE : 0;
}
