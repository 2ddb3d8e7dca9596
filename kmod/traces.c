/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/*
 * Probes at the kernel's tracepoints, and at system calls, which it tells by two
 * of them. The engine has no part in where they stand: the kernel calls us, with
 * preemption off, and what it calls runs the handler as a detour would.
 */
#include <linux/compat.h>
#include <linux/tracepoint.h>
#include <linux/vmalloc.h>
#include <trapless/error.h>

#include "../engine/core/detour/hook.h"
#include "../engine/os/kernel/machine.h"
#include "../home/view.h"
#include "script.h"
#include "../runtime/script.h"

struct trace {
	struct tracepoint *at; /* NULL: it is off */
	void *listener, *handler;
	struct script *script;
	struct tl_hook *hook;
	struct tl_env env;
};

/* --- what the kernel calls: any context ---------------------------------------------------- */

static void run(struct trace *t, struct tl_regs *regs)
{
	struct tl_thread *self = tl_hook_enter(t->hook);

	if (!self)
		return;
	if (t->script->stacks)
		script_call(t->script, t->handler, tl_hook_probe(t->hook), regs, self);
	else
		((tl_pre_fn)t->handler)(tl_hook_probe(t->hook), regs, self);
	tl_hook_leave(self);
}

/* As each tracepoint calls it with its own parameters; those that are not in registers stay where they are. */
static void on_event(void *data, unsigned long a, unsigned long b, unsigned long c, unsigned long d,
	unsigned long e)
{
	const unsigned long args[TL_ARGUMENTS] = {(unsigned long)data, a, b, c, d, e};
	struct trace *t = data;
	struct tl_regs regs;

	tl_machine_called(&regs, on_event, __builtin_frame_address(0), args);
	run(t, &regs);
}

bool script_is_listener(unsigned long pc)
{
	return pc == (unsigned long)on_event;
}

/* Numbers of 32-bit programs mean other calls. */
static void on_enter(void *data, struct pt_regs *user, long number)
{
	struct trace *t = data;
	struct tl_regs regs;

	if (in_compat_syscall())
		return;
	tl_machine_asked(&regs, user, number);
	run(t, &regs);
}

static void on_exit(void *data, struct pt_regs *user, long result)
{
	struct trace *t = data;
	struct tl_regs regs;

	if (in_compat_syscall())
		return;
	tl_machine_answered(&regs, user, tl_machine_number(user), result);
	run(t, &regs);
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

static void fill(struct script *s, uint32_t i, struct trace *t)
{
	const struct tl_ctl_probe *p = tl_ctl_probe(s->ctl, i);

	tl_ctl_env(&t->env, tl_ctl_view(s->ctl), p);
	t->handler = (void *)(uintptr_t)p->handler;
	t->script = s;
	tl_hook_init(t->hook, &t->env);
}

/* 0 or -TL_E_ */
static int turn_on(struct script *s, uint32_t i, struct trace *t)
{
	const struct tl_tap_probe *p = &s->tap.probes[i];
	struct search search = {.name = tl_tap_string(&s->tap, p->func)};
	int ret;

	for_each_kernel_tracepoint(look, &search);
	if (!search.found)
		return -TL_E_NO_SYMBOL;
	t->hook = vmalloc(tl_hook_size());
	if (!t->hook)
		return -TL_E_NOMEM;
	fill(s, i, t);
	t->listener = listener_of(p, search.name);
	ret = tracepoint_probe_register(search.found, t->listener, t);
	if (ret)
		return ret == -ENOMEM ? -TL_E_NOMEM : -TL_E_LIMIT;
	t->at = search.found;
	return 0;
}

static bool is_wanted(const struct script *s, uint32_t i)
{
	return s->tap.probes[i].kind == TL_TAP_TRACE && !tl_ctl_probe(s->ctl, i)->off;
}

int script_trace(struct script *s)
{
	int on = 0;

	for (uint32_t i = 0; i < s->tap.nprobes; i++) {
		struct tl_ctl_probe *p = tl_ctl_probe(s->ctl, i);

		if (!is_wanted(s, i) || p->armed)
			continue;
		if (!s->traces)
			s->traces = vzalloc(array_size(s->tap.nprobes, sizeof(*s->traces)));
		p->result = s->traces ? turn_on(s, i, &s->traces[i]) : -TL_E_NOMEM;
		p->armed = !p->result;
		on += p->armed;
	}
	return on;
}

static void count(struct tl_ctl_probe *p, const struct tl_hook *hook)
{
	uint64_t missed[TL_MISSED_KINDS], inside;

	tl_hook_missed(hook, missed, &inside);
	for (unsigned why = 0; why < TL_MISSED_KINDS; why++)
		p->missed[why] += missed[why];
	p->nmissed += inside;
}

static void turn_off(struct trace *t)
{
	if (t->at)
		tracepoint_probe_unregister(t->at, t->listener, t);
}

/* Nobody calls it any more. */
static void forget(struct tl_ctl_probe *p, struct trace *t)
{
	if (t->at)
		count(p, t->hook);
	p->armed &= !t->at;
	vfree(t->hook);
}

void script_untrace(struct script *s)
{
	if (!s->traces)
		return;
	for (uint32_t i = 0; i < s->tap.nprobes; i++)
		turn_off(&s->traces[i]);
	tracepoint_synchronize_unregister();
	for (uint32_t i = 0; i < s->tap.nprobes; i++)
		forget(tl_ctl_probe(s->ctl, i), &s->traces[i]);
	vfree(s->traces);
	s->traces = NULL;
}
