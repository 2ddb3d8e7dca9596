/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/*
 * kernel.data: memory that is written or read, as the debug registers of all
 * processors tell. They stop behind the instruction, in whatever context it runs;
 * the kernel switches them off while it handles one, and keeps them away from
 * what it needs for that. A processor that comes later does not watch.
 */
#include <linux/err.h>
#include <linux/hw_breakpoint.h>
#include <linux/log2.h>
#include <linux/perf_event.h>
#include <trapless/error.h>

#include "../engine/os/kernel/kernel.h"
#include "../engine/os/kernel/machine.h"
#include "hooks.h"

enum { LONGEST = 8 };

static void on_access(struct perf_event *event, struct perf_sample_data *data, struct pt_regs *at)
{
	struct tl_regs regs;

	tl_machine_interrupted(&regs, at);
	hooked_run(event->overflow_handler_context, &regs);
}

/* As many bytes of it as one register watches. */
static unsigned long size_of(unsigned long addr)
{
	unsigned long size, offset, n = LONGEST;

	if (!tl_names.kallsyms_lookup_size_offset(addr, &size, &offset) || offset || !size)
		return 1;
	while (n > size || addr % n)
		n /= 2;
	return n;
}

/* 0 or -TL_E_ */
static int find(const struct hooked *h, const struct tl_tap_probe *p, struct perf_event_attr *attr)
{
	attr->bp_addr = *h->env.func ? tl_names.kallsyms_lookup_name(h->env.func) : p->addr;
	if (!attr->bp_addr)
		return -TL_E_NO_FUNCTION;
	attr->bp_len = p->arg ? p->arg : size_of(attr->bp_addr);
	if (attr->bp_addr < TASK_SIZE_MAX || !is_power_of_2(attr->bp_len) ||
		attr->bp_len > LONGEST || attr->bp_addr % attr->bp_len)
		return -TL_E_WATCH_PLACE;
	attr->bp_type = p->flags & TL_TAP_PROBE_READS ? HW_BREAKPOINT_RW : HW_BREAKPOINT_W;
	return 0;
}

static int reason_of(long error)
{
	switch (error) {
	case -ENOMEM:
		return -TL_E_NOMEM;
	case -ENOSPC:
		return -TL_E_WATCH_REGISTERS;
	default:
		return -TL_E_WATCH_PLACE;
	}
}

static int on(struct hooked *h, const struct tl_tap_probe *p)
{
	struct perf_event *__percpu *events;
	struct perf_event_attr attr;
	int ret;

	hw_breakpoint_init(&attr);
	ret = find(h, p, &attr);
	if (ret)
		return ret;
	events = register_wide_hw_breakpoint(&attr, on_access, h);
	if (IS_ERR((const void __force *)events))
		return reason_of(PTR_ERR((const void __force *)events));
	h->at = (void __force *)events;
	return 0;
}

static void off(struct hooked *h)
{
	unregister_wide_hw_breakpoint((struct perf_event * __percpu *)h->at);
}

const struct hook_kind hook_watches = {.on = on, .off = off};
