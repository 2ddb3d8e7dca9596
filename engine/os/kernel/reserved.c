/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/*
 * Text that is not ours to change: what the kernel's own modifiers have marked
 * (they answer themselves), what may not be interrupted by a probe, and what
 * our own stops run through.
 */
#include <linux/uaccess.h>
#include "kernel.h"

enum { ENDBR_LEN = 4, LOOK_MAX = 64 };

static const char *const never[] = {
	/* What processors run while they are stopped: nobody looks whether they stand in a detour. */
	"multi_cpu_stop",
	"stop_machine_yield",
	"rcu_momentary_dyntick_idle",
	"touch_nmi_watchdog",
	"arch_touch_nmi_watchdog",
	"touch_softlockup_watchdog",
	/* What the compiler calls wherever it likes, also in our slow path. */
	"memcpy",
	"memcpy_orig",
	"memcpy_erms",
	"memset",
	"memset_orig",
	"memset_erms",
	"memmove",
};

static struct {
	uintptr_t lo, hi;
} ranges[ARRAY_SIZE(never) + 1];
static unsigned nranges;

static void add(uintptr_t lo, uintptr_t hi)
{
	if (lo >= hi)
		return;
	ranges[nranges].lo = lo;
	ranges[nranges++].hi = hi;
}

/* Whatever a kernel has inlined or left out is not there to be probed. */
static void add_function(const char *name)
{
	unsigned long addr = tl_names.kallsyms_lookup_name(name), size, offset;

	if (addr && tl_names.kallsyms_lookup_size_offset(addr, &size, &offset))
		add(addr, addr + size);
}

void tl_reserved_init(void)
{
	nranges = 0;
	for (size_t i = 0; i < ARRAY_SIZE(never); i++)
		add_function(never[i]);
	/* By way of these, handlers return and call. */
	add(tl_names.kallsyms_lookup_name("__indirect_thunk_start"),
		tl_names.kallsyms_lookup_name("__indirect_thunk_end"));
}

static bool blacklisted(uintptr_t lo, uintptr_t hi)
{
	for (unsigned i = 0; i < nranges; i++)
		if (lo < ranges[i].hi && hi > ranges[i].lo)
			return true;
	/* Entry code, noinstr text, and what the kernel says may not be probed: whole functions. */
	return tl_names.within_kprobe_blacklist(lo) || tl_names.within_kprobe_blacklist(hi - 1);
}

/* An ENDBR that is overwritten is a fault at the next indirect branch to it. */
static bool holds_endbr(uintptr_t lo, uintptr_t hi)
{
	static const uint8_t endbr64[ENDBR_LEN] = {0xf3, 0x0f, 0x1e, 0xfa};
	uint8_t buf[LOOK_MAX + 2 * ENDBR_LEN];
	/* Functions are aligned: none begins on the page before. */
	size_t before = min((size_t)(ENDBR_LEN - 1), (size_t)offset_in_page(lo));
	size_t n = before + (hi - lo) + ENDBR_LEN - 1;

	n = tl_os_text_read(lo - before, buf, n);
	for (size_t i = 0; i + ENDBR_LEN <= n; i++)
		if (!memcmp(buf + i, endbr64, ENDBR_LEN))
			return true;
	return false;
}

static bool holds_jump_label(void *start, void *last)
{
	bool ret;

	if (!tl_names.jump_label_text_reserved)
		return false;
	tl_names.jump_label_lock();
	ret = tl_names.jump_label_text_reserved(start, last);
	tl_names.jump_label_unlock();
	return ret;
}

/* A kprobe that is optimized covers bytes behind its own. */
static bool holds_kprobe(uintptr_t lo, uintptr_t hi)
{
	bool ret = false;

	preempt_disable();
	for (uintptr_t a = lo - (MAX_OPTIMIZED_LENGTH - 1); a < hi && !ret; a++)
		ret = tl_names.get_kprobe((void *)a);
	preempt_enable();
	return ret;
}

int tl_os_text_reserved(uintptr_t lo, uintptr_t hi)
{
	void *start = (void *)lo, *last = (void *)(hi - 1);

	if (hi - lo > LOOK_MAX || blacklisted(lo, hi) || holds_endbr(lo, hi))
		return -TL_E_BLACKLIST;
	if (holds_jump_label(start, last) || holds_kprobe(lo, hi))
		return -TL_E_RESERVED;
	if (tl_names.ftrace_text_reserved && tl_names.ftrace_text_reserved(start, last))
		return -TL_E_RESERVED;
	if (tl_names.static_call_text_reserved && tl_names.static_call_text_reserved(start, last))
		return -TL_E_RESERVED;
	if (tl_names.alternatives_text_reserved && tl_names.alternatives_text_reserved(start, last))
		return -TL_E_RESERVED;
	return 0;
}
