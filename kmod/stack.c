/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/*
 * Stacks for handlers that need more than a task may have left: one for each
 * record that handlers run on, and one for those that the device runs, which
 * probes may interrupt. What a detour calls then is here, and calls the handler
 * itself.
 */
#include <linux/preempt.h>
#include <linux/vmalloc.h>
#include <trapless/error.h>

#include "../engine/os/kernel/contexts.h"
#include "../engine/os/kernel/machine.h"
#include "../home/view.h"
#include "script.h"
#include "../runtime/script.h"

/* Of a task's 16 KiB a handler takes no more than this. What runs on a stack of ours has room for an interrupt, too. */
enum { STACK_MAX = 4096, SPARE = 4096 };

/* Those with stacks; set and cleared while no handler of theirs runs. */
static struct script *owners[TL_CTL_SESSIONS];

static unsigned long stack_size(const struct script *s)
{
	return PAGE_ALIGN((unsigned long)s->tap.options->stack + SPARE);
}

int script_stacks_make(struct script *s)
{
	if (s->tap.options->stack <= STACK_MAX)
		return 0;
	s->stacks = vmalloc(array_size(tl_contexts() + 1, stack_size(s)));
	return s->stacks ? 0 : -TL_E_NOMEM;
}

void script_stacks_own(struct script *s)
{
	owners[s->ctl->slot] = s->stacks ? s : NULL;
}

void script_stacks_free(struct script *s)
{
	for (unsigned i = 0; i < TL_CTL_SESSIONS; i++)
		if (owners[i] == s)
			owners[i] = NULL;
	vfree(s->stacks);
	s->stacks = NULL;
}

static void *top_of(const struct script *s, unsigned n)
{
	return (char *)s->stacks + (n + 1) * stack_size(s);
}

unsigned long script_call(struct script *s, void *handler, void *a, void *b, void *c)
{
	return tl_machine_call_on(top_of(s, tl_context_number(c)), handler, a, b, c);
}

/* Preemption is off: whoever waits for a lock of its own handler would wait for nobody, and no task may stand on a stack of ours. */
unsigned long script_call_outside(struct script *s, void *handler, void *a, void *c)
{
	unsigned long ret;

	preempt_disable_notrace();
	s->outside.own->processor = tl_home_processor();
	ret = s->stacks ? tl_machine_call_on(top_of(s, tl_contexts()), handler, a, NULL, c)
			: (unsigned long)((tl_pre_fn)handler)(a, NULL, c);
	preempt_enable_notrace();
	return ret;
}

static struct script *owner_of(const struct tl_env *env)
{
	unsigned i;

	for (i = 0; i < TL_CTL_SESSIONS - 1; i++)
		if (owners[i] && tl_ctl_view(owners[i]->ctl) == env->view)
			break;
	return owners[i];
}

static int at_site(struct tl_probe *p, struct tl_regs *regs, struct tl_thread *self)
{
	const struct tl_env *env = p->data;
	struct script *s = owner_of(env);

	return (int)script_call(s, s->code + s->tap.probes[env->number].handler, p, regs, self);
}

static int at_entry(struct tl_ret_call *c, struct tl_regs *regs, struct tl_thread *self)
{
	const struct tl_env *env = c->rp->data;
	struct script *s = owner_of(env);

	return (int)script_call(s, s->code + s->tap.probes[env->number].on_entry, c, regs, self);
}

static void at_return(struct tl_ret_call *c, struct tl_regs *regs, struct tl_thread *self)
{
	const struct tl_env *env = c->rp->data;
	struct script *s = owner_of(env);

	script_call(s, s->code + s->tap.probes[env->number].handler, c, regs, self);
}

/* The task's own stack, or one of ours, serves all handlers: the engine has none to give. */
void script_stack_of(const struct script *s, struct tl_ctl_probe *p)
{
	p->flags &= ~(uint32_t)TL_PROBE_BIG_STACK;
	if (!s->stacks)
		return;
	if (p->kind == TL_TAP_SITE)
		p->handler = (uintptr_t)at_site;
	else if (p->kind == TL_TAP_RETURN) {
		p->handler = (uintptr_t)at_return;
		p->on_entry = p->on_entry ? (uintptr_t)at_entry : 0;
	}
}
