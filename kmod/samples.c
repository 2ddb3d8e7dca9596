/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/*
 * timer.profile: each processor has a timer of its own, whose interrupt is the
 * sample: of what it has interrupted, be it the kernel or a program. Processors
 * that come take part, those that go end it.
 */
#include <asm/irq_regs.h>
#include <linux/cpuhotplug.h>
#include <linux/hrtimer.h>
#include <linux/percpu.h>
#include <linux/slab.h>
#include <trapless/error.h>

#include "../engine/os/kernel/machine.h"
#include "hooks.h"
#include "kmod.h"

/* Nobody samples faster. */
enum { SHORTEST_NS = 1000000 };

struct sampler {
	struct hrtimer timer;
	struct samples *of;
};

struct samples {
	struct hlist_node node; /* in the list of those that are told of processors */
	struct hooked *probe;
	ktime_t period;
	struct sampler __percpu *each;
};

static enum cpuhp_state state;

/* The next one comes when as much time has passed as this one took: half of a processor is the most that is lost. */
static enum hrtimer_restart sample(struct hrtimer *timer)
{
	const struct samples *s = container_of(timer, struct sampler, timer)->of;
	const struct pt_regs *at = get_irq_regs();
	ktime_t began = hrtimer_cb_get_time(timer), now;
	struct tl_regs regs;

	if (at) {
		tl_machine_interrupted(&regs, at);
		hooked_run(s->probe, &regs);
	}
	now = hrtimer_cb_get_time(timer);
	hrtimer_forward(timer, ktime_add(now, ktime_sub(now, began)), s->period);
	return HRTIMER_RESTART;
}

/* On that processor, as is the next. */
static int cpu_comes(unsigned int cpu, struct hlist_node *node)
{
	struct samples *s = hlist_entry(node, struct samples, node);
	struct sampler *own = per_cpu_ptr(s->each, cpu);

	own->of = s;
	hrtimer_init(&own->timer, CLOCK_MONOTONIC, HRTIMER_MODE_REL_PINNED_HARD);
	own->timer.function = sample;
	hrtimer_start(&own->timer, s->period, HRTIMER_MODE_REL_PINNED_HARD);
	return 0;
}

static int cpu_goes(unsigned int cpu, struct hlist_node *node)
{
	struct samples *s = hlist_entry(node, struct samples, node);

	hrtimer_cancel(&per_cpu_ptr(s->each, cpu)->timer);
	return 0;
}

static void free_samples(struct samples *s)
{
	free_percpu(s->each);
	kfree(s);
}

static struct samples *make(struct hooked *h, const struct tl_tap_probe *p)
{
	struct samples *s = kzalloc(sizeof(*s), GFP_KERNEL);

	if (!s)
		return NULL;
	s->probe = h;
	s->period = ns_to_ktime(p->arg ? p->arg : NSEC_PER_SEC / HZ);
	s->each = alloc_percpu(struct sampler);
	if (s->each)
		return s;
	kfree(s);
	return NULL;
}

static int on(struct hooked *h, const struct tl_tap_probe *p)
{
	struct samples *s;
	int ret;

	if (p->arg && p->arg < SHORTEST_NS)
		return -TL_E_LIMIT;
	s = make(h, p);
	if (!s)
		return -TL_E_NOMEM;
	h->at = s;
	ret = cpuhp_state_add_instance(state, &s->node);
	if (!ret)
		return 0;
	free_samples(s);
	return ret == -ENOMEM ? -TL_E_NOMEM : -TL_E_LIMIT;
}

static void off(struct hooked *h)
{
	struct samples *s = h->at;

	cpuhp_state_remove_instance(state, &s->node);
	free_samples(s);
}

const struct hook_kind hook_samples = {.on = on, .off = off};

int samples_start(void)
{
	int ret = cpuhp_setup_state_multi(
		CPUHP_AP_ONLINE_DYN, "trapless:samples", cpu_comes, cpu_goes);

	if (ret < 0)
		return ret;
	state = ret;
	return 0;
}

void samples_stop(void)
{
	cpuhp_remove_multi_state(state);
}
