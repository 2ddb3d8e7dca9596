/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/*
 * The records of running handlers. Preemption is off in them, and what may interrupt one is of another level: so each
 * processor has one for each level, whatever number of tasks there is. What interrupts in the same level, before the
 * kernel has counted it, finds the record taken.
 */
#include <linux/percpu.h>
#include <linux/preempt.h>
#include <linux/sched.h>
#undef current /* the engine has a member of that name */

#include "../../arch/arch.h"
#include "../../core/base/mem.h"
#include "../../core/detour/site.h"
#include "../../core/detour/thread.h"
#include "../os.h"
#include "contexts.h"

enum { LEVELS = 4 };

static struct tl_thread *contexts;

unsigned tl_contexts(void)
{
	return nr_cpu_ids * LEVELS;
}

unsigned tl_context_number(const struct tl_thread *t)
{
	uintptr_t off = (uintptr_t)t - (uintptr_t)contexts;

	return off < tl_contexts() * sizeof(*t) ? (unsigned)(off / sizeof(*t)) : tl_contexts();
}

int tl_contexts_init(void)
{
	contexts = tl_os_alloc(tl_contexts() * sizeof(*contexts));
	return contexts ? 0 : -TL_E_NOMEM;
}

void tl_contexts_exit(void)
{
	tl_os_free(contexts, tl_contexts() * sizeof(*contexts));
	contexts = NULL;
}

struct tl_thread *tl_context_now(void)
{
	return &contexts[raw_smp_processor_id() * LEVELS + interrupt_context_level()];
}

struct tl_thread *tl_os_context(void)
{
	struct tl_thread *t = tl_context_now();

	return !preemptible() && t->guard ? t : NULL;
}

static noinline void refuse(struct tl_site *site, struct tl_thread *t)
{
	tl_count(&t->nmissed);
	tl_site_count_inside(site);
	preempt_enable_notrace();
}

struct tl_thread *tl_context_enter(struct tl_site *site)
{
	struct tl_thread *t;

	preempt_disable_notrace();
	t = tl_context_now();
	if (unlikely(TL_RELAXED(&t->guard))) {
		refuse(site, t);
		return NULL;
	}
	TL_STORE(&t->guard, (uintptr_t)__builtin_frame_address(0));
	return t;
}

void tl_context_leave(struct tl_thread *t)
{
	TL_STORE(&t->guard, 0);
	preempt_enable_notrace();
}

static int hit(struct tl_site *site, struct tl_regs *regs, uint32_t gives)
{
	struct tl_thread *t = tl_context_enter(site);
	struct tl_probe *p;
	int ret = 0;

	if (unlikely(!t))
		return 0;
	t->gives = gives & ~TL_HIT_POST;
	p = TL_LOAD(&site->current);
	if (gives & TL_HIT_POST)
		p->post(p, regs, t);
	else
		ret = p->pre(p, regs, t);
	tl_context_leave(t);
	return ret;
}

struct tl_thread *tl_os_contexts(
	unsigned *n, int (**fn)(struct tl_site *site, struct tl_regs *regs, uint32_t gives))
{
	*n = tl_contexts();
	*fn = hit;
	return contexts;
}
