/* SPDX-License-Identifier: MIT */
/*
 * Where an image is mapped more than once each of its probes has a slot of the control block for each copy: its own, and
 * others behind those of the module. A slot is its probe's for good; without an address it is free for the next copy.
 */
#define _GNU_SOURCE
#include <stdlib.h>

#include "../../../home/fill.h"
#include "../../base/slots.h"
#include "../guardian.h"
#include "copies.h"

/* What the target cannot write. */
struct slot {
	uint32_t next; /* of the same probe; 0: none */
	uint32_t first_part;
};

void slot_fill(struct client *c, uint32_t slot, uint32_t probe)
{
	const struct tl_ctl_module m = {c->module_at, c->strings_at, c->traps_only};

	tl_ctl_fill(tl_ctl_probe(c->ctl, slot), probe, &c->mod->probes[probe], &m);
}

uint32_t slot_next(const struct client *c, uint32_t slot)
{
	return c->slots ? c->slots[slot].next : 0;
}

static bool has_room(struct client *c, const struct tl_tap_probe *from)
{
	if (!c->slots) {
		c->slots = calloc(probe_slots(c->mod), sizeof(*c->slots));
		c->parts_used = c->mod->nparts;
	}
	return c->slots && c->tell.nslots < probe_slots(c->mod) &&
	       c->parts_used + from->nparts <= part_slots(c->mod);
}

uint32_t slot_add(struct client *c, uint32_t probe)
{
	const struct tl_tap_probe *from = &c->mod->probes[probe];
	uint32_t slot = c->tell.nslots;

	if (!has_room(c, from))
		return 0;
	c->slots[slot].next = c->slots[probe].next;
	c->slots[slot].first_part = c->parts_used;
	c->slots[probe].next = slot;
	c->parts_used += from->nparts;
	c->tell.nslots++;
	slot_fill(c, slot, probe);
	return slot;
}

void slot_place(struct client *c, uint32_t slot, uint32_t probe, uint64_t bias)
{
	const struct tl_tap_probe *from = &c->mod->probes[probe];

	tl_ctl_place(tl_ctl_probe(c->ctl, slot),
		tl_ctl_parts(c->ctl, (uint32_t)probe_slots(c->mod)),
		slot == probe ? from->first_part : c->slots[slot].first_part, from, c->mod->parts,
		bias);
}
