/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/*
 * Sites: one per probed address. Handlers reach their probes through
 * site->current, which is changed by one store; what it pointed at before is
 * given back after a grace period (docs/locking.md).
 */
#include "../base/broken.h"
#include "../base/core.h"
#include "../base/mem.h"
#include "../base/race.h"
#include "../base/slab.h"
#include "site.h"
#include "thread.h"

#define SITE(n) ((struct tl_site *)(void *)((uint8_t *)(n)-offsetof(struct tl_site, node)))

static struct tl_index sites; /* all */
static struct tl_slab slab = {.size = sizeof(struct tl_site)};

static int nothing_pre(struct tl_probe *p, struct tl_regs *regs, struct tl_thread *self)
{
	(void)p;
	(void)regs;
	(void)self;
	return 0;
}

static void nothing_post(struct tl_probe *p, struct tl_regs *regs, struct tl_thread *self)
{
	(void)p;
	(void)regs;
	(void)self;
}

struct tl_probe tl_probe_nothing = {.pre = nothing_pre, .post = nothing_post};

static bool live(const struct tl_probe *p)
{
	return TL_RELAXED(&p->state) == TL_PROBE_ARMED;
}

static struct tl_site *of_aggregate(struct tl_probe *p)
{
	return (struct tl_site *)(void *)((uint8_t *)p - offsetof(struct tl_site, aggregate));
}

/*
 * A thread that is in an older detour, on its way to the handlers, gets those
 * that this one was built for: it came by before the others were there.
 */
static bool given(const struct tl_probe *p, const struct tl_thread *self)
{
	return !(p->flags & TL_PROBE_ASKS & ~self->gives);
}

/* The first handler that wants to go on elsewhere ends the walk. */
static int aggregate_pre(struct tl_probe *agg, struct tl_regs *regs, struct tl_thread *self)
{
	struct tl_probe *p = TL_LOAD(&of_aggregate(agg)->probes);
	int ret = 0;

	for (; p && !ret; p = TL_LOAD(&p->next)) {
		if (!live(p) || !given(p, self))
			continue;
		if (p->flags & TL_PROBE_COUNT)
			tl_count(&p->nhits);
		if (p->pre)
			ret = p->pre(p, regs, self);
	}
	return ret;
}

static void aggregate_post(struct tl_probe *agg, struct tl_regs *regs, struct tl_thread *self)
{
	struct tl_probe *p = TL_LOAD(&of_aggregate(agg)->probes);

	for (; p; p = TL_LOAD(&p->next))
		if (live(p) && p->post && given(p, self))
			p->post(p, regs, self);
}

struct tl_site *tl_site_find(uintptr_t addr)
{
	struct tl_node *n = tl_index_find(&sites, addr);

	return n ? SITE(n) : NULL;
}

struct tl_site *tl_site_next(uintptr_t addr)
{
	struct tl_node *n = tl_index_ceil(&sites, addr);

	return n ? SITE(n) : NULL;
}

struct tl_site *tl_site_get(uintptr_t addr)
{
	struct tl_site *s = tl_site_find(addr);

	TL_ASSERT_HELD();
	if (s)
		return s;
	s = tl_slab_get(&slab);
	if (!s)
		return NULL;
	s->addr = addr;
	s->current = &tl_probe_nothing;
	s->aggregate.addr = (void *)addr;
	s->aggregate.pre = aggregate_pre;
	s->aggregate.post = aggregate_post;
	s->aggregate.site = s;
	tl_index_insert(&sites, &s->node, addr);
	return s;
}

void tl_site_put(struct tl_site *s)
{
	TL_ASSERT_HELD();
	if (s->refs || s->probes || s->patch || s->queued || s->waits)
		return;
	tl_index_remove(&sites, &s->node);
	tl_slab_put(&slab, s);
}

void tl_site_wants(struct tl_site *s)
{
	struct tl_probe *p;

	s->flags = 0;
	s->post = s->want = false;
	for (p = s->probes; p; p = p->next) {
		if (!(p->reserved & 1)) /* not enabled */
			continue;
		s->want = true;
		s->flags |= p->flags;
		s->post |= p->post != NULL;
	}
	s->aggregate.flags = s->flags;
	if (s->post && !s->had_post) { /* before a detour calls one */
		s->had_post = true;
		tl_site_publish(s);
	}
}

bool tl_site_only_trap(const struct tl_site *s)
{
	return (s->flags & TL_PROBE_NO_JUMP) ||
	       (!tl_core.optimize && !(s->flags & TL_PROBE_NO_TRAP));
}

void tl_site_link(struct tl_site *s, struct tl_probe *p)
{
	struct tl_probe **link = &s->probes;

	while (*link)
		link = &(*link)->next;
	p->next = NULL;
	p->site = s;
	TL_STORE(link, p);
}

/* p->next stays: a handler's walk may stand on p until the grace period is over. */
void tl_site_unlink(struct tl_site *s, struct tl_probe *p)
{
	struct tl_probe **link = &s->probes;

	while (*link && *link != p)
		link = &(*link)->next;
	TL_ASSERT(*link == p);
	if (*link == p)
		TL_STORE(link, p->next);
}

/* It is all that this site's detours have to call, and each of them gives what it asks for. */
static bool alone(const struct tl_site *s, const struct tl_probe *p)
{
	return p->pre && !s->had_post && !(p->flags & (TL_PROBE_COUNT | s->lacks));
}

/* One live probe is called directly where that will do. */
void tl_site_publish(struct tl_site *s)
{
	struct tl_probe *p, *only = NULL, *next = &tl_probe_nothing;
	unsigned n = 0;

	for (p = s->probes; p; p = p->next)
		if (live(p)) {
			only = p;
			n++;
		}
	if (n == 1 && alone(s, only))
		next = only;
	else if (n)
		next = &s->aggregate;
	TL_STORE(&s->current, next);
	tl_race_point(RP_PUBLISHED);
}

void tl_site_count_inside(struct tl_site *s)
{
	struct tl_probe *p;

	for (p = TL_LOAD(&s->probes); p; p = TL_LOAD(&p->next))
		if (live(p))
			tl_count(&p->nmissed);
}

/* Nothing guards the thread: the list could be freed under it. */
void tl_site_count_missed(struct tl_site *s, enum tl_missed why)
{
	tl_count(&s->missed[why]);
}

static uint64_t take_count(uint64_t *count)
{
#if UINTPTR_MAX > 0xffffffffu
	return __atomic_exchange_n(count, 0, __ATOMIC_RELAXED);
#else
	uint64_t n = *count; /* no 64-bit exchange: a miss in between may be lost */

	*count = 0;
	return n;
#endif
}

void tl_site_fold_missed(struct tl_site *s)
{
	struct tl_probe *p;

	for (unsigned why = 0; why < TL_MISSED_KINDS; why++) {
		uint64_t n = take_count(&s->missed[why]);

		for (p = n ? s->probes : NULL; p; p = p->next) {
			if (!live(p))
				continue;
			p->nmissed += n;
			p->missed[why] += n;
		}
	}
}

void tl_sites_deinit(void)
{
	sites = (struct tl_index){0};
	tl_slab_deinit(&slab);
}
