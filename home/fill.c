/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
#include "fill.h"

#include <trapless/probe.h>

static uint32_t flags_of(const struct tl_tap_probe *from, bool no_jump)
{
	return (from->flags & TL_TAP_PROBE_REGS ? TL_PROBE_REGS : 0) |
	       (from->flags & TL_TAP_PROBE_BIG_STACK ? TL_PROBE_BIG_STACK : 0) |
	       (from->flags & TL_TAP_PROBE_RESULT ? TL_PROBE_RESULT : 0) |
	       (no_jump ? TL_PROBE_NO_JUMP : 0);
}

void tl_ctl_fill(struct tl_ctl_probe *to, uint32_t number, const struct tl_tap_probe *from,
	const struct tl_ctl_module *m)
{
	to->number = number;
	to->kind = from->kind;
	to->image = from->image;
	to->handler = from->handler == TL_NONE ? 0 : m->code + from->handler;
	to->on_entry = from->on_entry == TL_NONE ? 0 : m->code + from->on_entry;
	to->point = m->strings + from->point;
	to->func = m->strings + from->func;
	to->name = m->strings + from->name;
	to->call_data = from->call_data;
	to->at_syscall = from->flags & TL_TAP_PROBE_SYSCALL;
	to->first_part = from->first_part;
	to->nparts = from->nparts;
	to->flags = flags_of(from, m->no_jump);
}

void tl_ctl_place(struct tl_ctl_probe *to, struct tl_func_part *to_parts, uint32_t first_part,
	const struct tl_tap_probe *from, const struct tl_tap_part *from_parts, uint64_t bias)
{
	uint32_t i;

	to->addr = from->addr + bias;
	to->bias = bias;
	to->first_part = first_part;
	for (i = 0; i < from->nparts; i++) {
		to_parts[first_part + i].start = from_parts[from->first_part + i].addr + bias;
		to_parts[first_part + i].size = from_parts[from->first_part + i].size;
	}
}

uint64_t tl_ctl_semaphore(const struct tl_tap_probe *from, uint64_t bias)
{
	return from->kind == TL_TAP_SITE && from->arg ? (uint64_t)from->arg + bias : 0;
}

void tl_ctl_unplace(struct tl_ctl_probe *to)
{
	to->addr = 0;
	to->semaphore = 0;
	to->result = 0;
	to->armed = 0;
}
