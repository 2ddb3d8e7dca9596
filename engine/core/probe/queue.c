/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/*
 * Sites that may stand better than they do. They come here when a neighbour
 * has left, when handlers that asked for more are gone, and when somebody
 * stood in the way.
 */
#include "../base/broken.h"
#include "../base/core.h"
#include "../detour/site.h"
#include "../text/patch.h"
#include "optimizer.h"

static struct tl_site *first;
static size_t n;

void tl_optimizer_add(struct tl_site *s)
{
	if (s->waits || !tl_core.optimize)
		return;
	s->waits = true;
	s->waits_next = first;
	first = s;
	n++;
}

struct tl_site *tl_optimizer_take(void)
{
	struct tl_site *s = first;

	if (!s)
		return NULL;
	first = s->waits_next;
	n--;
	s->waits = false;
	return s;
}

void tl_optimizer_forget(void)
{
	struct tl_site *s;

	TL_ASSERT_HELD();
	while ((s = tl_optimizer_take()))
		tl_site_put(s);
}

size_t tl_optimizer_waiting(void)
{
	return n;
}

/* --- who may do better -------------------------------------------------------- */

static bool for_a_neighbour(const struct tl_plan *plan)
{
	return plan->why[TL_RUNG_WINDOW] == -TL_E_NEIGHBOUR ||
	       plan->why[TL_RUNG_PUN] == -TL_E_NEIGHBOUR ||
	       plan->why[TL_RUNG_EVICT] == -TL_E_NEIGHBOUR;
}

void tl_optimizer_left(const struct tl_patch *p)
{
	uintptr_t hi = p->plan->start + p->plan->len + TL_PATCH_MAX;
	struct tl_site *s = tl_core.ntraps ? tl_site_next(p->plan->start - TL_PATCH_MAX) : NULL;

	for (; s && s->addr < hi; s = tl_site_next(s->addr + 1)) {
		const struct tl_plan *plan = s->patch ? s->patch->plan : NULL;

		if (!s->queued && plan && plan->rung == TL_RUNG_TRAP && for_a_neighbour(plan)) {
			s->tries = 0;
			tl_optimizer_add(s);
		}
	}
}

/* Its detour does more than anybody asks for, or it had to take a worse rung for that. */
static bool asks_less(const struct tl_site *s)
{
	const struct tl_point *pt = tl_site_point(s);

	return (pt->post && !s->post) || (pt->flags & ~s->flags & TL_PROBE_ASKS);
}

/* The knob has been turned on. */
void tl_optimizer_all(void)
{
	for (struct tl_site *s = tl_site_next(0); s; s = tl_site_next(s->addr + 1)) {
		if (s->want && s->patch && s->patch->plan->rung == TL_RUNG_TRAP &&
			!tl_site_only_trap(s)) {
			s->tries = 0;
			tl_optimizer_add(s);
		}
	}
}

bool tl_site_was_busy(const struct tl_site *s)
{
	const struct tl_plan *plan = s->patch->plan;

	return plan->rung == TL_RUNG_TRAP && plan->why[TL_RUNG_WINDOW] == -TL_E_BUSY;
}

void tl_optimizer_changed(const struct tl_batch *b)
{
	for (size_t i = 0; i < b->nsites; i++) {
		struct tl_site *s = b->sites[i];

		s->tries = 0;
		if (s->want && s->patch && (asks_less(s) || tl_site_was_busy(s)))
			tl_optimizer_add(s);
	}
}
