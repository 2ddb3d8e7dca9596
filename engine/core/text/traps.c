/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/*
 * Breakpoints of a batch: each leads into its detour before it is written, and
 * those that a window will swallow lead into the window's detour first.
 */
#include "../../os/os.h"
#include "../base/core.h"
#include "../detour/detour.h"
#include "patch.h"
#include "traps.h"

enum { QUIET_TRIES = 100, QUIET_PAUSE_US = 200 };

static struct tl_patch *old_trap_at(const struct tl_batch *b, uintptr_t addr)
{
	struct tl_patch *p;

	for (p = b->old; p; p = p->next)
		if (p->plan->rung == TL_RUNG_TRAP && p->plan->start == addr)
			return p;
	return NULL;
}

/* Takes back what tl_traps_add() did for the fresh patches in front of `end`. */
void tl_traps_undo(struct tl_batch *b, const struct tl_patch *end)
{
	struct tl_patch *p, *old;

	for (p = b->fresh; p != end; p = p->next) {
		if (p->plan->rung != TL_RUNG_TRAP)
			continue;
		old = old_trap_at(b, p->plan->start);
		if (old)
			tl_os_trap_add(
				p->plan->start, old->detour->at); /* is in the table: cannot fail */
		else
			tl_os_trap_remove(p->plan->start);
	}
}

int tl_traps_add(struct tl_batch *b)
{
	struct tl_patch *p;
	int ret;

	for (p = b->fresh; p; p = p->next) {
		if (p->plan->rung != TL_RUNG_TRAP)
			continue;
		ret = tl_os_trap_add(p->plan->start, p->detour->at);
		if (ret) {
			tl_traps_undo(b, p);
			return ret;
		}
	}
	return 0;
}

/* The fresh window over a breakpoint that goes, whose old detour would come back inside it. */
static struct tl_patch *window_over(const struct tl_patch *old)
{
	struct tl_patch *p;

	if (old->plan->rung != TL_RUNG_TRAP)
		return NULL;
	p = tl_patch_at(old->plan->start);
	return p && p->plan->rung == TL_RUNG_WINDOW &&
			       tl_plan_inside(p->plan, old->plan->start + old->plan->len)
		       ? p
		       : NULL;
}

void tl_traps_lead_back(struct tl_batch *b)
{
	struct tl_patch *p, *w;

	for (p = b->old; p; p = p->next)
		if ((w = window_over(p))) {
			tl_os_trap_add(p->plan->start, p->detour->at);
			w->entered = true;
		}
}

static bool wait_quiet(const struct tl_detour *d)
{
	for (unsigned i = 0; i < QUIET_TRIES; i++) {
		if (tl_os_quiet(d->at, d->at + d->size) == 0)
			return true;
		tl_os_pause(QUIET_PAUSE_US);
	}
	return false;
}

/* It would be entered before the text is written that it comes back to. */
static bool comes_back_into_old(const struct tl_batch *b, const struct tl_patch *w)
{
	const struct tl_patch *p;

	for (p = b->old; p; p = p->next)
		if (tl_plan_inside(p->plan, w->plan->start + w->plan->len))
			return true;
	return false;
}

/*
 * Breakpoints that a window will swallow lead into its detour from now on, so
 * that nobody comes back between them any more; then their old detours empty.
 */
int tl_traps_lead_in(struct tl_batch *b)
{
	struct tl_patch *p, *w;

	for (p = b->old; p; p = p->next) {
		uintptr_t in;

		if (!(w = window_over(p)))
			continue;
		if (comes_back_into_old(b, w))
			goto back;
		in = tl_arch_ip_to_detour(w->plan, &tl_core.env, w->detour->at, p->plan->start);
		if (!in)
			goto back;
		tl_os_trap_add(p->plan->start, in);
		w->entered = true;
	}
	for (p = b->old; p; p = p->next)
		if (window_over(p) && !wait_quiet(p->detour))
			goto back;
	return 0;
back:
	tl_traps_lead_back(b);
	return -TL_E_BUSY;
}
