/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/* From names of functions to places in the text. */
#include <trapless/error.h>

#include "../engine/os/kernel/kernel.h"
#include "../home/fill.h"
#include "script.h"

/* Of the function at addr: all of it. */
static bool part_at(uintptr_t addr, struct tl_func_part *part)
{
	unsigned long size, off;

	if (!tl_names.kallsyms_lookup_size_offset(addr, &size, &off))
		return false;
	part->start = addr - off;
	part->size = size;
	return true;
}

/* What is ftrace's, or for the processor to see, is no part of the function: it begins behind that. */
static void leave_out(unsigned bytes, struct tl_ctl_probe *to, struct tl_func_part *part)
{
	to->addr += bytes;
	part->start += bytes;
	part->size -= bytes;
}

static void place(struct script *s, uint32_t i)
{
	const struct tl_tap_probe *from = &s->tap.probes[i];
	struct tl_ctl_probe *to = tl_ctl_probe(s->ctl, i);
	struct tl_func_part *parts = tl_ctl_parts(s->ctl, s->tap.nprobes);
	uintptr_t func = tl_names.kallsyms_lookup_name(tl_tap_string(&s->tap, from->func));

	to->first_part = i;
	to->nparts = 0;
	if (!func || !part_at(func, &parts[i])) {
		to->result = -TL_E_NO_SYMBOL;
		return;
	}
	if (from->addr >= parts[i].size) {
		to->result = -TL_E_NOT_TEXT;
		return;
	}
	tl_ctl_place(to, parts, i, from, NULL, func);
	to->nparts = 1;
	if (from->flags & TL_TAP_PROBE_ENTRY || from->kind == TL_TAP_RETURN)
		leave_out(tl_os_entry_bytes(func), to, &parts[i]);
}

void script_place(struct script *s)
{
	for (uint32_t i = 0; i < s->tap.nprobes; i++) {
		const struct tl_tap_probe *from = &s->tap.probes[i];

		script_stack_of(s, tl_ctl_probe(s->ctl, i));
		if (from->kind == TL_TAP_SITE || from->kind == TL_TAP_RETURN)
			place(s, i);
	}
}
