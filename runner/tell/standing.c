/* SPDX-License-Identifier: MIT */
/* The user's wishes while the session runs, and how the probes stand then. */
#define _GNU_SOURCE
#include <stdio.h>

#include "../session.h"
#include "tell.h"

void take_tuning(const struct teller *t)
{
	for (uint32_t i = 0; i < t->nslots; i++)
		tl_ctl_probe(t->probes, i)->off = t->tuning->off[slot_probe(t, i)] != 0;
}

static void fill_row(const struct teller *t, const struct tl_ctl_probe *p, struct probe_row *row)
{
	*row = (struct probe_row){.addr = p->addr,
		.detour = p->detour,
		.missed = p->nmissed,
		.detour_size = p->detour_size,
		.rung = ctl_bounded(&p->rung, TL_RUNG_TRAP),
		.result = p->result,
		.armed = p->armed,
		.replaced = p->replaced};
	if (p->addr)
		explain_place(t, p->addr, row->place, sizeof(row->place));
}

/* Of a probe in several copies of its image one is shown, and what was missed in all. */
static void add_copy(const struct teller *t, const struct tl_ctl_probe *p, struct probe_row *row)
{
	uint64_t missed = row->missed + p->nmissed;

	if (p->armed && !row->armed)
		fill_row(t, p, row);
	row->missed = missed;
}

void tell_standing(const struct teller *t, const char *why_not)
{
	for (uint32_t i = 0; t->probes && i < t->nslots; i++) {
		struct probe_row *row = &t->standing->probe[slot_probe(t, i)];

		if (i < t->mod->nprobes)
			fill_row(t, tl_ctl_probe(t->probes, i), row);
		else
			add_copy(t, tl_ctl_probe(t->probes, i), row);
	}
	if (t->probes)
		t->standing->usage = t->ctl->arming.usage;
	tell(t, MSG_TUNED, 0, why_not);
}
