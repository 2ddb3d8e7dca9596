/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
#include "foresee.h"

#include "../detour/site.h"

int tl_foresee_add(struct tl_batch *b, uintptr_t addr, uintptr_t start, uint32_t size, bool alone)
{
	struct tl_site *s = tl_site_get(addr);

	if (!s)
		return -TL_E_NOMEM;
	s->want = true;
	s->flags = alone ? TL_PROBE_NO_TRAP : 0;
	if (size) {
		s->func_start = start;
		s->func_size = size;
	}
	return tl_batch_add(b, s);
}

struct listener {
	tl_foresee_fn tell;
	void *arg;
};

static void pass_on(void *arg, const struct tl_site *s, const struct tl_plan *plan, int why)
{
	const struct listener *l = arg;

	l->tell(l->arg, s->addr, plan ? plan->rung : TL_RUNG_NONE, why);
}

void tl_foresee(struct tl_batch *b, tl_foresee_fn tell, void *arg)
{
	struct listener l = {tell, arg};

	tl_batch_foresee(b, pass_on, &l);
	for (size_t i = 0; i < b->nsites; i++) {
		struct tl_site *s = b->sites[i];

		s->want = s->queued = false;
		s->planned = NULL;
		tl_site_put(s);
	}
	b->nsites = 0;
}
