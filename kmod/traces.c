/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/*
 * Probes at the kernel's tracepoints, and at system calls, which it tells by two
 * of them: it calls us there with preemption off.
 */
#include <linux/compat.h>
#include <linux/tracepoint.h>
#include <trapless/error.h>

#include "../engine/os/kernel/machine.h"
#include "hooks.h"

/* --- what the kernel calls: any context ---------------------------------------------------- */

/* As each tracepoint calls it with its own parameters; those that are not in registers stay where they are. */
static void on_event(void *data, unsigned long a, unsigned long b, unsigned long c, unsigned long d,
	unsigned long e)
{
	const unsigned long args[TL_ARGUMENTS] = {(unsigned long)data, a, b, c, d, e};
	struct tl_regs regs;

	tl_machine_called(&regs, on_event, __builtin_frame_address(0), args);
	hooked_run(data, &regs);
}

bool script_is_listener(unsigned long pc)
{
	return pc == (unsigned long)on_event;
}

/* False: it is a call that has no name here. */
static bool is_known(struct pt_regs *own, const struct pt_regs **user, long *number)
{
	const struct pt_regs *from = *user;

	if (!in_compat_syscall())
		return true;
	*user = own;
	return tl_machine_usual(own, from, number);
}

static void on_enter(void *data, const struct pt_regs *user, long number)
{
	struct pt_regs own;
	struct tl_regs regs;

	if (!is_known(&own, &user, &number))
		return;
	tl_machine_asked(&regs, user, number);
	hooked_run(data, &regs);
}

static void on_exit(void *data, const struct pt_regs *user, long result)
{
	long number = tl_machine_number(user);
	struct pt_regs own;
	struct tl_regs regs;

	if (!is_known(&own, &user, &number))
		return;
	tl_machine_answered(&regs, user, number, result);
	hooked_run(data, &regs);
}

/* --- on and off ----------------------------------------------------------------------------- */

struct search {
	const char *name;
	struct tracepoint *found;
};

static void look(struct tracepoint *tp, void *arg)
{
	struct search *s = arg;

	if (!strcmp(tp->name, s->name))
		s->found = tp;
}

static void *listener_of(const struct tl_tap_probe *p, const char *name)
{
	if (!(p->flags & TL_TAP_PROBE_SYSCALL))
		return on_event;
	return strcmp(name, "sys_exit") ? (void *)on_enter : (void *)on_exit;
}

static int on(struct hooked *h, const struct tl_tap_probe *p)
{
	struct search search = {.name = h->env.func};
	int ret;

	for_each_kernel_tracepoint(look, &search);
	if (!search.found)
		return -TL_E_NO_FUNCTION;
	h->at = search.found;
	h->listener = listener_of(p, search.name);
	ret = tracepoint_probe_register(h->at, h->listener, h);
	if (ret)
		return ret == -ENOMEM ? -TL_E_NOMEM : -TL_E_LIMIT;
	return 0;
}

static void off(struct hooked *h)
{
	tracepoint_probe_unregister(h->at, h->listener, h);
}

const struct hook_kind hook_traces = {.on = on, .off = off};
