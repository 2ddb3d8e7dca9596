/* SPDX-License-Identifier: MIT */
/* The user's wishes while the session runs, and how the probes stand then. */
#define _GNU_SOURCE
#include <stdio.h>

#include "../session.h"
#include "tell.h"

void take_tuning(const struct teller *t)
{
	for (uint32_t i = 0; i < t->mod->nprobes; i++)
		tl_ctl_probe(t->probes, i)->off = t->tuning->off[i] != 0;
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

void tell_standing(const struct teller *t, const char *why_not)
{
	for (uint32_t i = 0; t->probes && i < t->mod->nprobes; i++)
		fill_row(t, tl_ctl_probe(t->probes, i), &t->standing->probe[i]);
	if (t->probes)
		t->standing->usage = t->ctl->usage;
	tell(t, MSG_TUNED, 0, why_not);
}
