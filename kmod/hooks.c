/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
#include "hooks.h"

#include <linux/mutex.h>
#include <linux/tracepoint.h>
#include <linux/vmalloc.h>
#include <trapless/error.h>

#include "../engine/os/kernel/hook.h"
#include "../home/view.h"

static DEFINE_MUTEX(lock);

void hooks_lock(void)
{
	mutex_lock(&lock);
}

void hooks_unlock(void)
{
	mutex_unlock(&lock);
}

static const struct hook_kind *kind_of(const struct tl_tap_probe *p)
{
	switch (p->kind) {
	case TL_TAP_TRACE:
		return &hook_traces;
	case TL_TAP_PROFILE:
		return &hook_samples;
	case TL_TAP_WATCH:
		return &hook_watches;
	default:
		return NULL;
	}
}

void hooked_run(struct hooked *h, struct tl_regs *regs)
{
	struct tl_thread *self = tl_hook_enter(h->hook);

	if (!self)
		return;
	if (h->script->stacks)
		script_call(h->script, h->handler, tl_hook_probe(h->hook), regs, self);
	else
		((tl_pre_fn)h->handler)(tl_hook_probe(h->hook), regs, self);
	tl_hook_leave(self);
}

static void fill(struct script *s, uint32_t i, struct hooked *h)
{
	const struct tl_ctl_probe *p = tl_ctl_probe(s->ctl, i);

	tl_ctl_env(&h->env, tl_ctl_view(s->ctl), p);
	h->handler = (void *)(uintptr_t)p->handler;
	h->script = s;
	tl_hook_init(h->hook, &h->env);
}

/* As the kind's on(). */
static int turn_on(struct script *s, uint32_t i, const struct hook_kind *kind)
{
	struct hooked *h = &s->hooked[i];
	int ret;

	if (!h->hook)
		h->hook = vmalloc(tl_hook_size());
	if (!h->hook)
		return -TL_E_NOMEM;
	fill(s, i, h);
	ret = kind->on(h, &s->tap.probes[i]);
	if (!ret)
		h->kind = kind;
	return ret;
}

static bool is_wanted(const struct script *s, uint32_t i)
{
	const struct tl_ctl_probe *p = tl_ctl_probe(s->ctl, i);

	return !p->off && !p->armed;
}

static void count(struct tl_ctl_probe *p, const struct tl_hook *hook)
{
	uint64_t missed[TL_MISSED_KINDS], inside;

	tl_hook_missed(hook, missed, &inside);
	for (unsigned why = 0; why < TL_MISSED_KINDS; why++)
		p->missed[why] += missed[why];
	p->nmissed += inside;
}

/* Nobody calls it any more. */
static void let_go(struct tl_ctl_probe *p, struct hooked *h)
{
	count(p, h->hook);
	p->armed = 0;
	h->kind = NULL;
}

void hooked_leave(struct hooked *h)
{
	struct script *s = h->script;

	h->kind->off(h);
	tracepoint_synchronize_unregister();
	let_go(tl_ctl_probe(s->ctl, (uint32_t)(h - s->hooked)), h);
}

static bool is_out(const struct script *s, uint32_t i, bool everything)
{
	return s->hooked[i].kind && (everything || tl_ctl_probe(s->ctl, i)->off);
}

/* All of them, or those that are not wanted. */
static void unhook(struct script *s, bool everything)
{
	bool any = false;

	for (uint32_t i = 0; i < s->tap.nprobes; i++)
		if (is_out(s, i, everything)) {
			s->hooked[i].kind->off(&s->hooked[i]);
			any = true;
		}
	if (any)
		tracepoint_synchronize_unregister();
	for (uint32_t i = 0; i < s->tap.nprobes; i++)
		if (is_out(s, i, everything))
			let_go(tl_ctl_probe(s->ctl, i), &s->hooked[i]);
}

void script_unhook(struct script *s)
{
	if (!s->hooked)
		return;
	hooks_lock();
	unhook(s, true);
	hooks_unlock();
	for (uint32_t i = 0; i < s->tap.nprobes; i++)
		vfree(s->hooked[i].hook);
	vfree(s->hooked);
	s->hooked = NULL;
}

/* How many? */
static int hook(struct script *s, uint32_t i)
{
	const struct hook_kind *kind = kind_of(&s->tap.probes[i]);
	struct tl_ctl_probe *p = tl_ctl_probe(s->ctl, i);
	int ret;

	if (!kind || !is_wanted(s, i))
		return 0;
	if (!s->hooked)
		s->hooked = vzalloc(array_size(s->tap.nprobes, sizeof(*s->hooked)));
	ret = s->hooked ? turn_on(s, i, kind) : -TL_E_NOMEM;
	p->result = ret == HOOK_WAITS ? 0 : ret;
	p->armed = !ret;
	return p->armed;
}

int script_hook(struct script *s)
{
	int on = 0;

	hooks_lock();
	if (s->hooked)
		unhook(s, false);
	for (uint32_t i = 0; i < s->tap.nprobes; i++)
		on += hook(s, i);
	hooks_unlock();
	return on;
}
