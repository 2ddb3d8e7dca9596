/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/*
 * Evictions: a short jump shares bytes of another jump, by which one of the
 * next instructions is moved away first. That one may share bytes of a third,
 * which has to go before it, and so on.
 *
 * The jump in front is placed first. What it needs of the others' bytes
 * (tl_plan.need) is then fixed for them; where they still have a choice, its
 * own displacement was left open.
 */
#include "x86.h"

enum { FORMS = 4, STEPS = 4, CHAIN = 3 };

/*
 * Prefixes for the neighbour's jump. As the last byte of our displacement each
 * leads elsewhere; several of them shift what the neighbour itself shares.
 */
static const struct padding {
	uint8_t count, value;
} paddings[] = {{0, 0}, {1, 0x2e}, {1, 0x3e}, {1, 0x26}, {1, 0x64}, {1, 0x40}, {1, 0x48}, {2, 0x2e},
	{2, 0x64}, {3, 0x2e}, {3, 0x64}};

/* A move is one of STEPS instructions with one of the paddings. Candidates: chains of one move, of two, of three. */
enum { MOVES = STEPS * sizeof(paddings) / sizeof(paddings[0]) };
static const unsigned power[CHAIN + 1] = {1, MOVES, MOVES *MOVES, MOVES *MOVES *MOVES};

_Static_assert(X86_EVICTIONS == FORMS * (MOVES + MOVES * MOVES + MOVES * MOVES * MOVES),
	"forms of our jump, and the moves behind it");

struct eviction {
	unsigned form; /* of the first jump */
	unsigned n; /* moves */
	unsigned move[CHAIN];
	/* tl_plan.step of a jump whose chain are the moves from this one on */
	unsigned step[CHAIN];
	unsigned more[CHAIN +
		      1]; /* further candidates with the same form and so many moves the same */
};

/* The jumps of those that go. */
struct chain {
	unsigned n;
	struct tl_plan jump[CHAIN];
};

static struct eviction eviction(unsigned which)
{
	struct eviction e = {.n = 1};
	unsigned first = X86_STEP_EVICT;

	for (; which >= FORMS * power[e.n]; e.n++)
		which -= FORMS * power[e.n];
	e.form = which / power[e.n];
	e.more[0] = power[e.n] - 1 - which % power[e.n];
	for (unsigned n = e.n; n--;) {
		unsigned behind = power[e.n - n - 1], from_here = power[e.n - n];

		e.move[n] = which % from_here / behind;
		e.step[n] = first + which % from_here;
		e.more[n + 1] = behind - 1 - which % behind;
		first += FORMS * from_here;
	}
	return e;
}

/* The instruction so many steps behind plan's own, if plan's jump reaches into it; else 0. */
static uintptr_t step_on(const struct tl_code *code, const struct tl_plan *plan, unsigned steps)
{
	uintptr_t addr = plan->start + plan->len;
	uintptr_t end = plan->start + x86_displacement(plan) + 4;
	struct tl_insn i;

	while (steps-- && addr < end) {
		if (!x86_decode_at(code, addr, &i))
			return 0;
		addr += i.len;
	}
	return addr < end ? addr : 0;
}

/* The jump by which the instruction at addr goes, but for where it leads: 0 or the reason why it must stay. */
static int neighbour(
	const struct tl_code *code, uintptr_t addr, struct padding padding, struct tl_plan *q)
{
	unsigned form = padding.count, own, room;
	struct tl_insn i;
	int why;

	code = x86_part(code, addr);
	if (!code || code->port & X86_PORT_BREAK || tl_arch_can_probe(code, addr))
		return -TL_E_NO_MOVE;
	x86_decode_at(code, addr, &i);
	*q = (struct tl_plan){.port = x86_port_of(code)};
	if (!form && x86_can_retarget(&i)) {
		x86_settle(q, code, TL_RUNG_RETARGET, addr, addr + i.len);
		q->changed = i.len;
		return 0;
	}
	if (x86_must_stay(code, &i))
		return -TL_E_NO_MOVE;
	room = x86_insn_room(code, addr, &i);
	own = form + X86_JMP_LEN < room ? form + X86_JMP_LEN : room;
	if (form >= own || x86_any_target(code, addr + 1, addr + own, &why))
		return -TL_E_NO_MOVE;
	x86_settle(q, code, own < form + X86_JMP_LEN ? TL_RUNG_PUN : TL_RUNG_WHOLE, addr,
		addr + (own > i.len ? own : i.len));
	q->form = (uint8_t)form;
	q->prefix = padding.value;
	q->changed = (uint8_t)own;
	return 0;
}

/* What will stand behind plan's own bytes. With `more`, what lies behind the last one that goes may change yet. */
static void view_behind(const struct tl_code *code, const struct tl_plan *plan, unsigned own,
	const struct chain *c, bool more, struct x86_view *v)
{
	const struct tl_plan *last = &c->jump[c->n - 1];
	uintptr_t from = plan->start + own, end = last->start + last->len;
	uint8_t jump[TL_PATCH_MAX];

	x86_view_text(x86_part(code, plan->start), from, v);
	for (const struct tl_plan *q = c->jump; q <= last; q++) {
		unsigned rel = x86_displacement(q), at = (unsigned)(q->start - from);

		if (q->start < from)
			continue;
		tl_arch_patch_bytes(q, q->start, jump);
		for (unsigned n = 0; n < q->changed && at + n < X86_VIEW; n++) {
			v->value[at + n] = jump[n];
			v->open[at + n] = n >= rel && n < rel + 4;
		}
	}
	for (uintptr_t at = end > from ? end : from; more && at < from + X86_VIEW; at++)
		v->open[at - from] = true;
}

static int fit(const struct tl_code *code, struct tl_plan *plan, unsigned own,
	const struct chain *c, bool more)
{
	struct x86_view v;
	int ret;

	view_behind(code, plan, own, c, more, &v);
	ret = x86_fit(plan, own, &v);
	return ret ? ret : x86_check_reach(plan);
}

/* Where nothing is free chains are many, and all in vain. */
static int fit_free(
	struct x86_request *r, struct tl_plan *plan, unsigned own, const struct chain *c, bool more)
{
	int ret = fit(r->code, plan, own, c, more);

	if (ret || !r->ground->room || r->ground->room(r->ground->arg, plan))
		return ret;
	return -TL_E_OUT_OF_REACH;
}

/* The next to go. 0, -TL_E_INVAL (the jump in front does not reach it) or the reason. */
static int extend(const struct tl_code *code, const struct tl_plan *plan, const struct eviction *e,
	struct chain *c)
{
	struct tl_plan *mover = c->n ? &c->jump[c->n - 1] : NULL, *q = &c->jump[c->n];
	unsigned move = e->move[c->n];
	uintptr_t addr = step_on(code, mover ? mover : plan, move % STEPS);
	int ret = addr ? neighbour(code, addr, paddings[move / STEPS], q) : -TL_E_INVAL;

	if (ret)
		return ret;
	q->early = plan->early;
	q->no_red_zone = plan->no_red_zone;
	if (mover) {
		mover->moved = addr;
		mover->step = e->step[c->n];
	}
	c->n++;
	return 0;
}

/* Do all the chain's jumps have somewhere to lead to? */
static int fit_chain(struct x86_request *r, struct chain *c, bool more)
{
	int ret = 0;

	for (unsigned n = 0; n < c->n && !ret; n++)
		ret = fit_free(r, &c->jump[n], c->jump[n].changed, c, more);
	return ret;
}

static int make_chain(struct x86_request *r, const struct eviction *e, struct chain *c)
{
	while (c->n < e->n) {
		bool more = c->n + 1 < e->n;
		int ret;

		r->skip = e->more[c->n + 1];
		ret = extend(r->code, r->plan, e, c);
		if (!ret)
			ret = fit_free(r, r->plan, x86_own_bytes(r), c, more);
		if (!ret)
			ret = fit_chain(r, c, more);
		if (ret)
			return ret;
	}
	return 0;
}

int x86_try_evict(struct x86_request *r, unsigned which)
{
	struct eviction e = eviction(which);
	struct tl_plan *plan = r->plan;
	const struct tl_plan *last;
	struct chain c = {0};
	int ret = x86_start_pun(r, TL_RUNG_EVICT, e.form);

	r->skip = e.more[0];
	if (ret)
		return ret;
	if (x86_own_bytes(r) !=
		plan->len) /* the branch to the inner byte needs what follows, too */
		return -TL_E_BRANCH_INTO;
	if (x86_claimed(r, plan->start, plan->start + x86_displacement(plan) + 4))
		return -TL_E_NEIGHBOUR;
	ret = make_chain(r, &e, &c);
	if (ret)
		return ret;
	plan->moved = c.jump[0].start;
	last = &c.jump[c.n - 1];
	return x86_claimed(r, plan->start, last->start + last->held) ? -TL_E_NEIGHBOUR : 0;
}

/* What plan's jump, and those in front of it, need of q's bytes. */
static void set_need(struct tl_plan *q, const struct tl_plan *plan, uintptr_t at)
{
	unsigned off = (unsigned)(q->start - plan->start), rel = x86_displacement(plan);
	uint32_t v = (uint32_t)(at - (plan->start + rel + 4));

	for (unsigned n = 0; n < sizeof(q->need.byte); n++) {
		unsigned i = off + n;
		bool ours = i >= rel && i < rel + 4;

		if (!ours && !(i < sizeof(plan->need.byte) && plan->need.mask >> i & 1))
			continue;
		q->need.mask |= (uint8_t)(1u << n);
		q->need.byte[n] = ours ? (uint8_t)(v >> (8 * (i - rel))) : plan->need.byte[i];
	}
}

int tl_arch_plan_moved(
	const struct tl_plan *plan, uintptr_t at, const struct tl_code *code, struct tl_plan *moved)
{
	struct eviction e = eviction(plan->step - X86_STEP_EVICT);
	struct chain c = {0};
	int ret = 0;

	while (c.n < e.n && !ret)
		ret = extend(code, plan, &e, &c);
	if (ret)
		return ret;
	*moved = c.jump[0];
	set_need(moved, plan, at);
	return fit(code, moved, moved->changed, &c, false);
}
