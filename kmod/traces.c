/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/*
 * Probes at the tracepoints of the kernel and its modules, and at system calls, which it tells by two of them: it calls
 * us there with preemption off. A module's come and go with it.
 */
#include <linux/compat.h>
#include <linux/module.h>
#include <linux/mutex.h>
#include <linux/tracepoint.h>
#include <trapless/error.h>

#include "../engine/os/kernel/kernel.h"
#include "../engine/os/kernel/machine.h"
#include "hooks.h"
#include "kmod.h"

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

/* In a module; false: it is not loaded. It stays as long as hooks_lock() is held, for on_going() takes that, too. */
static bool look_in(const char *module, struct search *s)
{
	const struct module *m;

	mutex_lock(tl_names.module_mutex);
	m = script_loaded(module);
	for (unsigned i = 0; m && i < m->num_tracepoints; i++)
		look(tracepoint_ptr_deref(&m->tracepoints_ptrs[i]), s);
	mutex_unlock(tl_names.module_mutex);
	return m;
}

static LIST_HEAD(standing); /* those that are on */

static void *listener_of(const struct tl_tap_probe *p, const char *name)
{
	if (!(p->flags & TL_TAP_PROBE_SYSCALL))
		return on_event;
	return strcmp(name, "sys_exit") ? (void *)on_enter : (void *)on_exit;
}

struct tracepoint *kernel_tracepoint(const char *name)
{
	struct search search = {.name = name};

	for_each_kernel_tracepoint(look, &search);
	return search.found;
}

static int on(struct hooked *h, const struct tl_tap_probe *p)
{
	const char *module = script_module_of(h->script, p);
	struct search search = {.name = h->env.func};
	int ret;

	if (!module)
		search.found = kernel_tracepoint(search.name);
	else if (!look_in(module, &search))
		return HOOK_WAITS;
	if (!search.found)
		return -TL_E_NO_FUNCTION;
	h->at = search.found;
	h->listener = listener_of(p, search.name);
	ret = tracepoint_probe_register(h->at, h->listener, h);
	if (ret)
		return ret == -ENOMEM ? -TL_E_NOMEM : -TL_E_LIMIT;
	list_add(&h->node, &standing);
	return 0;
}

static void off(struct hooked *h)
{
	list_del(&h->node);
	tracepoint_probe_unregister(h->at, h->listener, h);
}

const struct hook_kind hook_traces = {.on = on, .off = off};

/* --- modules that go -------------------------------------------------------------------------- */

/* Before its tracepoints do: nobody may listen to them then. */
static int on_going(struct notifier_block *nb, unsigned long state, void *arg)
{
	const struct tp_module *going = arg;
	struct hooked *h, *next;

	if (state != MODULE_STATE_GOING)
		return NOTIFY_DONE;
	hooks_lock();
	list_for_each_entry_safe (h, next, &standing, node)
		if (within_module((unsigned long)h->at, going->mod))
			hooked_leave(h);
	hooks_unlock();
	return NOTIFY_DONE;
}

static struct notifier_block block = {.notifier_call = on_going};

int traces_start(void)
{
	return register_tracepoint_module_notifier(&block);
}

void traces_stop(void)
{
	unregister_tracepoint_module_notifier(&block);
}
