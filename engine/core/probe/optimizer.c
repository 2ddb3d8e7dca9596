/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/*
 * The optimizer: sites that may stand better than they do wait in a queue and
 * are planned anew, many in one batch. They come here when a neighbour has
 * left, when handlers that asked for more are gone, and when somebody stood in
 * the way. What does not work out stays as it is.
 */
#include "../internal.h"

enum {
	BATCH = 256, /* sites planned anew while the engine is locked */
	TRIES = 10, /* where somebody stands in the way */
};

static bool running; /* it leaves nobody that had been in the way */

static void add(struct tl_site *s)
{
	if (s->waits || !tl_core.optimize)
		return;
	s->waits = true;
	s->waits_next = tl_core.waiting;
	tl_core.waiting = s;
	tl_core.nwaiting++;
}

static struct tl_site *take(void)
{
	struct tl_site *s = tl_core.waiting;

	if (!s)
		return NULL;
	tl_core.waiting = s->waits_next;
	tl_core.nwaiting--;
	s->waits = false;
	return s;
}

void tl_optimizer_forget(void)
{
	struct tl_site *s;

	TL_ASSERT_HELD();
	while ((s = take()))
		tl_site_put(s);
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
	bool any = tl_core.ntraps && !running;
	struct tl_site *s = any ? tl_site_next(p->plan->start - TL_PATCH_MAX) : NULL;

	for (; s && s->addr < hi; s = tl_site_next(s->addr + 1)) {
		const struct tl_plan *plan = s->patch ? s->patch->plan : NULL;

		if (!s->queued && plan && plan->rung == TL_RUNG_TRAP && for_a_neighbour(plan)) {
			s->tries = 0;
			add(s);
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
			add(s);
		}
	}
}

static bool was_busy(const struct tl_site *s)
{
	const struct tl_plan *plan = s->patch->plan;

	return plan->rung == TL_RUNG_TRAP && plan->why[TL_RUNG_WINDOW] == -TL_E_BUSY;
}

void tl_optimizer_changed(const struct tl_batch *b)
{
	for (size_t i = 0; i < b->nsites; i++) {
		struct tl_site *s = b->sites[i];

		s->tries = 0;
		if (s->want && s->patch && (asks_less(s) || was_busy(s)))
			add(s);
	}
}

/* --- working it off ------------------------------------------------------------- */

static void run_batch(void)
{
	struct tl_batch b;
	struct tl_site *s;

	if (tl_batch_init(&b, BATCH)) {
		tl_optimizer_forget();
		return;
	}
	while (b.nsites < BATCH && (s = take())) {
		if (s->want && s->patch)
			tl_batch_add(&b, s);
		else
			tl_site_put(s);
	}
	b.again = true;
	running = true;
	tl_batch_commit(&b);
	running = false;
	for (size_t i = 0; i < b.nsites; i++) {
		s = b.sites[i];
		if (s->want && s->patch && was_busy(s) && ++s->tries < TRIES)
			add(s);
	}
	tl_batch_deinit(&b);
}

/* Nobody stands elsewhere in the meantime: each site once. */
static void run_at_once(void)
{
	size_t n = tl_core.nwaiting;

	for (; n; n = n > BATCH ? n - BATCH : 0)
		run_batch();
	tl_optimizer_forget();
}

void tl_optimizer_kick(void)
{
	TL_ASSERT_HELD();
	if (!tl_core.waiting || tl_core.kicked)
		return;
	tl_core.kicked = tl_os_later();
	if (!tl_core.kicked)
		run_at_once();
}

size_t tl_optimizer_run(void)
{
	size_t left;

	tl_os_lock();
	if (tl_core.waiting && tl_images_refresh() == 0)
		run_batch();
	left = tl_core.nwaiting;
	tl_core.kicked = left != 0;
	tl_os_unlock();
	return left;
}
