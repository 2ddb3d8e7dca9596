/* SPDX-License-Identifier: MIT */
/* What lies where, of ours in the target. */
#include "../guardian.h"
#include "ours.h"

bool in_our_memory(struct guardian *g, uint64_t addr)
{
	uint32_t i;

	for (i = 0; i < ctl_areas(g); i++) {
		if (!g->ctl->areas[i].shared && addr - g->ctl->areas[i].lo < g->ctl->areas[i].size)
			return true;
	}
	return addr - g->ctl->agent < g->ctl->agent_size;
}

bool in_handler(const struct guardian *g, uint64_t pc)
{
	const struct client *c;

	for (c = g->clients; c && pc - c->module_at >= c->module_size; c = c->next)
		;
	return c || pc - g->ctl->agent < g->ctl->agent_size;
}

/* What the agent has said of it, 0: nothing. */
uint64_t text_place(struct guardian *g, uint64_t addr)
{
	struct tl_ctl_place *spare, *p = tl_ctl_place_find(g->ctl, addr, &spare);

	return p ? __atomic_load_n(&p->to, __ATOMIC_ACQUIRE) : 0;
}

uint64_t text_before(struct guardian *g, uint64_t addr)
{
	uint64_t i, text = 0;

	if (!in_our_memory(g, addr))
		return addr;
	for (i = 1; i <= machine.insn_max && !text; i++)
		text = text_place(g, addr - i);
	return text ? text & ~TL_CTL_PUSHED : addr;
}
