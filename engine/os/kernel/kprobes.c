/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/* Kprobes that come after us: what they take for their original, and where they jump. */
#include <linux/hash.h>
#include <linux/rculist.h>
#include "kernel.h"

enum { NOTED = 4096 };

/* --- in the text ------------------------------------------------------------------- */

/* Also one that is switched off: it will go on by what it found there. */
bool tl_os_text_borrowed(uintptr_t lo, uintptr_t hi)
{
	const struct kprobe *p;
	bool any = false;

	rcu_read_lock();
	for (uintptr_t at = lo; at < hi; at++)
		hlist_for_each_entry_rcu (
			p, &tl_names.kprobe_table[hash_ptr((void *)at, TL_KPROBE_BITS)], hlist)
			any |= (uintptr_t)p->addr == at;
	rcu_read_unlock();
	return any;
}

/* --- kprobes that become jumps -------------------------------------------------------- */

/*
 * They do where no branch of the function leads to the bytes behind their first: the kernel reads all of the function for
 * it. It does not see branches that detours run; but it leaves functions alone in which an instruction may fault. So it is
 * told that such a branch may, by the hook that leads it from copies to originals (faults.c).
 */
static const char *const askers[] = {"can_optimize", "arch_prepare_optimized_kprobe"};
static struct {
	uintptr_t lo, hi;
} asking[ARRAY_SIZE(askers)];
/* How many detours run a branch at an address of this hash. More than there are: a kprobe stays a breakpoint, no more. */
static uint32_t noted[NOTED];
static size_t nnoted;

static uint32_t *note_of(uintptr_t addr)
{
	return &noted[hash_long(addr, ilog2(NOTED))];
}

bool tl_kprobe_fears(uintptr_t asker, uintptr_t addr)
{
	bool asks = false;

	for (unsigned i = 0; i < ARRAY_SIZE(asking); i++)
		asks |= asker - asking[i].lo < asking[i].hi - asking[i].lo;
	return asks && READ_ONCE(*note_of(addr));
}
NOKPROBE_SYMBOL(tl_kprobe_fears);

void tl_kprobes_note(const struct tl_plan *plan, int by)
{
	uint32_t *note = note_of(plan->start);

	if (!tl_arch_plan_jumps(plan))
		return;
	WRITE_ONCE(*note, *note + by);
	nnoted += (size_t)by;
}

bool tl_kprobes_noted(void)
{
	return nnoted != 0;
}

void tl_kprobes_init(void)
{
	unsigned long size, offset;

	memset(noted, 0, sizeof(noted));
	nnoted = 0;
	for (unsigned i = 0; i < ARRAY_SIZE(askers); i++) {
		uintptr_t at = tl_names.kallsyms_lookup_name(askers[i]);

		asking[i].lo = asking[i].hi = at;
		if (at && tl_names.kallsyms_lookup_size_offset(at, &size, &offset))
			asking[i].hi = at + size;
	}
}
