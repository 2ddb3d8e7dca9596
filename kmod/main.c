/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/*
 * trapless.ko: scripts in the kernel, by /dev/trapless; and the engine for other
 * modules. What it offers them is declared in <trapless/probe.h>; a module that
 * uses it registers probes of its own, and takes them away again before it leaves.
 */
#define pr_fmt(fmt) "trapless: " fmt

#include <linux/delay.h>
#include <linux/module.h>
#include <trapless/argprobe.h>
#include <trapless/probe.h>
#include <trapless/reserve.h>
#include <trapless/trace.h>

#include "../engine/core/probe/probe.h"
#include "kmod.h"
#include "modules.h"

#include "exports.inc" /* all of lib/public.syms but the life of the engine, which is ours, and hooks of programs */

static void leave(void);

static const struct part {
	int (*start)(void); /* 0 or -errno; NULL: nothing to do */
	void (*stop)(void);
} parts[] = {
	{modules_start, modules_stop},
	{traces_start, traces_stop},
	{NULL, events_stop},
	{samples_start, samples_stop},
	{NULL, script_stop},
	{device_start, device_stop},
};

static void stop_parts(size_t n)
{
	while (n)
		parts[--n].stop();
	leave();
}

static int __init start_parts(void)
{
	for (size_t n = 0; n < ARRAY_SIZE(parts); n++) {
		int ret = parts[n].start ? parts[n].start() : 0;

		if (ret) {
			stop_parts(n);
			return ret;
		}
	}
	return 0;
}

static int __init trapless_init(void)
{
	int ret = tl_engine_init();

	if (!ret)
		return start_parts();
	pr_err("%s: %s\n", tl_error_name(ret), tl_error_text(ret));
	return ret == -TL_E_NOMEM ? -ENOMEM : -ENODEV;
}

/* A module cannot refuse to leave: it waits until nobody needs its detours any more. */
static void leave(void)
{
	enum { POLL_MS = 20, POLLS_BEFORE_WORD = 100 };

	for (unsigned polls = 0; !tl_engine_exit(); polls++) {
		uintptr_t at = polls == POLLS_BEFORE_WORD ? tl_probes_borrowed() : 0;

		if (at)
			pr_warn("waiting for the kprobe on a jump of ours at %pS to go\n",
				(void *)at);
		else if (polls == POLLS_BEFORE_WORD)
			pr_warn("waiting for tasks that stand in a detour\n");
		msleep(POLL_MS);
	}
}

static void __exit trapless_exit(void)
{
	stop_parts(ARRAY_SIZE(parts));
}

module_init(trapless_init);
module_exit(trapless_exit);
MODULE_DESCRIPTION("trapless: probes by jumps");
MODULE_LICENSE("Dual MIT/GPL");
