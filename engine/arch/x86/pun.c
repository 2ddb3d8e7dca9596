/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/*
 * Jumps over instructions shorter than a jump: the displacement's last bytes
 * are bytes of the text that stay as they are. Prefixes without effect in
 * front of the opcode shift what is shared.
 */
#include "x86.h"

#define PREFIX 0x2e /* no effect on a direct jump */

unsigned x86_own_bytes(const struct x86_request *r)
{
	uintptr_t addr = r->plan->points[0].addr;
	unsigned n = 1;

	while (n < r->room && n < X86_JMP_LEN && !x86_is_target(r->code, addr + n))
		n++;
	return n;
}

bool x86_pun_is_wide(const struct x86_request *r)
{
	return x86_own_bytes(r) == X86_JMP_LEN - 1;
}

void x86_view_text(const struct tl_code *code, uintptr_t addr, struct x86_view *v)
{
	size_t off = addr - code->start;

	for (v->n = 0; v->n < X86_VIEW && off + v->n < code->known; v->n++) {
		v->value[v->n] = code->text[off + v->n];
		v->open[v->n] = false;
	}
}

unsigned x86_displacement(const struct tl_plan *plan)
{
	return plan->rung == TL_RUNG_RETARGET ? plan->len - 4u : plan->form + 1u;
}

int x86_fit(struct tl_plan *plan, unsigned own, const struct x86_view *behind)
{
	unsigned rel = x86_displacement(plan);

	plan->changed = (uint8_t)own;
	plan->held = (uint8_t)(rel + 4 > plan->len ? rel + 4 : plan->len);
	plan->fit = (struct tl_fit){.from = plan->start + rel + 4};
	for (unsigned n = 0; n < 4; n++) {
		unsigned i = rel + n;
		bool needed = plan->need.mask >> i & 1;

		if (!needed && (i < own || (i - own < behind->n && behind->open[i - own])))
			continue;
		if (!needed && i - own >= behind->n)
			return -TL_E_OUT_OF_REACH;
		plan->fit.mask |= 0xffu << (8 * n);
		plan->fit.match |= (uint32_t)(needed ? plan->need.byte[i] : behind->value[i - own])
				   << (8 * n);
	}
	return 0;
}

int x86_start_pun(struct x86_request *r, enum tl_rung rung, unsigned form)
{
	uintptr_t addr = r->plan->points[0].addr;
	unsigned own = x86_own_bytes(r);

	if (r->plan->npoints != 1)
		return -TL_E_NEIGHBOUR;
	if (own >= X86_JMP_LEN) /* a whole jump fits, or something is against that */
		return r->plan->why[TL_RUNG_WHOLE] ? r->plan->why[TL_RUNG_WHOLE] : -TL_E_INVAL;
	if (form >= own)
		return -TL_E_INVAL; /* no such candidate */
	x86_settle(r->plan, r->code, rung, addr, addr + (own > r->first.len ? own : r->first.len));
	r->plan->form = (uint8_t)form;
	r->plan->prefix = PREFIX;
	return 0;
}

int x86_try_pun(struct x86_request *r, unsigned form)
{
	int ret = x86_start_pun(r, TL_RUNG_PUN, form);
	unsigned own = x86_own_bytes(r);
	struct x86_view v;

	if (ret)
		return ret;
	x86_view_text(r->code, r->plan->start + own, &v);
	ret = x86_fit(r->plan, own, &v);
	if (!ret && x86_claimed(r, r->plan->start, r->plan->start + r->plan->held))
		return -TL_E_NEIGHBOUR;
	return ret;
}
