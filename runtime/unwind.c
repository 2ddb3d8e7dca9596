/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/*
 * Walking the stack by rules that were made from call frame information
 * (DWARF 5, section 6.4). Registers have DWARF's numbers.
 */
#include "internal.h"

enum { FP = TL_DWARF_FP, SP = TL_DWARF_SP, RA = TL_DWARF_IP, WORD = sizeof(uintptr_t) };

static void registers_of(const struct tl_regs *r, uint64_t reg[TL_FRAME_REGS])
{
	for (uint32_t n = 0; n < TL_FRAME_REGS; n++) {
		const uintptr_t *at = tl_reg_at(r, n);

		reg[n] = at ? *at : 0;
	}
}

#define ALL ((1u << TL_FRAME_REGS) - 1)

static bool load(const struct tl_walk *w, uint64_t *to, uint64_t addr)
{
	uintptr_t v;

	if (tl_read(w->run, &v, addr, sizeof(v)))
		return false;
	*to = v;
	return true;
}

/* Code that nothing is known of: a compiler's at run time, perhaps, which keeps a chain of frames. */
static bool step_by_frame_pointer(struct tl_walk *w)
{
	uint64_t fp = w->reg[FP], sp = w->reg[SP];

	if (fp < sp || fp % WORD || fp - sp > 1u << 20)
		return false;
	w->reg[SP] = fp + 2 * WORD;
	w->called = true;
	return load(w, &w->reg[FP], fp) && load(w, &w->reg[RA], fp + WORD);
}

static bool step_by_rule(struct tl_walk *w, const struct tl_tap_frame *f)
{
	uint64_t cfa = w->reg[f->cfa] + (uint64_t)(int64_t)f->offset, base = w->reg[f->base];
	bool signal = f->flags & TL_FRAME_SIGNAL;
	uint32_t left;

	if (f->flags & TL_FRAME_DEREF && !load(w, &cfa, cfa))
		return false;
	/* A signal's may lie on another stack. */
	if (!signal && cfa <= w->reg[SP])
		return false;
	w->reg[SP] = cfa;
	for (left = f->moved & ALL; left; left &= left - 1) {
		unsigned n = (unsigned)__builtin_ctz(left);
		uint64_t from = f->by_base >> n & 1 ? base : cfa;

		if (f->saved[n] == TL_FRAME_LOST)
			w->reg[n] = 0;
		else if (!load(w, &w->reg[n], from + (uint64_t)(int64_t)f->saved[n]))
			return false;
	}
	w->called = !signal;
	return true;
}

static bool step(struct tl_walk *w)
{
	struct tl_view *v = w->run->view;
	const struct tl_tap_frame *f;

	if (w->told)
		return v->ops->caller(v, &w->from, (uint32_t)w->n, &w->reg[RA]);
	f = v->ops->frame(v, w->reg[RA] - w->called);

	if (f ? !step_by_rule(w, f) : !step_by_frame_pointer(w))
		return false;
	if (!w->called && v->ops->original)
		w->reg[RA] = v->ops->original(v, w->reg[RA]);
	return w->reg[RA] != 0;
}

/* At a return the function's frame is gone: its caller is where the walk begins. */
static void start(struct tl_walk *w, struct tl_run *run, const struct tl_from *from)
{
	w->run = run;
	w->called = !from && run->call;
	registers_of(run->regs, w->reg);
	if (from) {
		w->reg[RA] = from->pc;
		w->reg[SP] = from->sp;
		w->reg[FP] = from->fp;
	} else if (run->call) {
		w->reg[RA] = run->call->ret_ip;
		w->reg[SP] = run->call->sp + TL_RETURN_POPS;
	}
}

void tl_walk_begin(struct tl_walk *w, struct tl_run *run, const struct tl_from *from, int64_t max)
{
	const struct tl_view_ops *ops = run->view->ops;

	w->n = 0;
	w->max = run->regs && ops && ops->frame && max > 0 ? (uint64_t)max : 0;
	if (!w->max)
		return;
	start(w, run, from);
	w->from = (struct tl_from){w->reg[RA], w->reg[SP], w->reg[FP]};
	w->told = ops->caller && ops->caller(run->view, &w->from, 0, &w->reg[RA]);
}

bool tl_walk_next(struct tl_walk *w, uint64_t *pc)
{
	if (w->n >= w->max || (w->n && !step(w)))
		return false;
	w->n++;
	*pc = w->reg[RA];
	return true;
}
