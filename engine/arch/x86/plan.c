/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/*
 * The placement ladder: which bytes one patch changes so that all its points
 * are served. Candidates are tried from the cheapest; each rung leaves its
 * reason.
 */
#include "x86.h"

#define REACH	     0x7fff0000ull /* +-2 GiB less a detour's size and some */
#define LOWEST	     0x10000 /* no system gives memory below */
#define WINDOW_TRIES 12
#define NOT_ONE	     (-TL_E_INVAL)

const unsigned tl_arch_rungs = 1u << TL_RUNG_RETARGET | 1u << TL_RUNG_WHOLE | 1u << TL_RUNG_PUN |
			       1u << TL_RUNG_EVICT | 1u << TL_RUNG_WINDOW | 1u << TL_RUNG_TRAP;

/* A window under consideration. */
struct window {
	uintptr_t start, end;
	unsigned cost;
};

/* `distance` from `from`, but not over either end of the address space. */
static uintptr_t away(uintptr_t from, int64_t distance)
{
	uintptr_t to = from + (uintptr_t)distance;

	if (distance < 0)
		return to < from && to > LOWEST ? to : LOWEST;
	return to >= from ? to : UINTPTR_MAX;
}

/*
 * As the processor sees it: a distance that wraps around. What a kernel keeps for each processor has addresses near 0,
 * which its text reaches over the end of the address space.
 */
static void reach_text(struct tl_plan *plan, uintptr_t text)
{
	int64_t distance = (int64_t)(text - plan->start);
	uintptr_t lo = away(plan->start, distance - (int64_t)REACH);
	uintptr_t hi = away(plan->start, distance + (int64_t)REACH);

	if (lo > plan->reach_lo)
		plan->reach_lo = lo;
	if (hi < plan->reach_hi)
		plan->reach_hi = hi;
}

/* Every displacement between the detour and the text must fit. */
static void set_reach(struct tl_plan *plan, const struct tl_code *code, uintptr_t end)
{
	uintptr_t addr = plan->start, target;
	struct tl_insn i;

	plan->reach_lo = LOWEST;
	plan->reach_hi = UINTPTR_MAX;
	reach_text(plan, addr);
	reach_text(plan, end);
	while (addr < end && x86_decode_at(code, addr, &i)) {
		if (x86_refers(&i, addr, &target))
			reach_text(plan, target);
		addr += i.len;
	}
}

void x86_settle(struct tl_plan *plan, const struct tl_code *code, enum tl_rung rung,
	uintptr_t start, uintptr_t end)
{
	plan->rung = (uint8_t)rung;
	plan->start = start;
	plan->len = plan->held = (uint8_t)(end - start);
	plan->form = plan->prefix = 0;
	plan->moved = 0;
	plan->need.mask = 0;
	plan->fit = (struct tl_fit){0};
	for (unsigned n = 0; n < plan->len; n++)
		plan->orig[n] = code->text[start - code->start + n];
	set_reach(plan, code, end);
}

static void settle(
	struct x86_request *r, enum tl_rung rung, uintptr_t start, uintptr_t end, uint8_t changed)
{
	x86_settle(r->plan, r->code, rung, start, end);
	r->plan->changed = changed;
}

bool x86_any_target(const struct tl_code *code, uintptr_t lo, uintptr_t hi, int *why)
{
	for (uintptr_t a = lo; a < hi; a++) {
		if (!x86_is_target(code, a))
			continue;
		*why = -TL_E_BRANCH_INTO;
		for (size_t n = 0; n < code->npads; n++)
			if (code->pads[n] == a)
				*why = -TL_E_LANDING_PAD;
		return true;
	}
	return false;
}

/* retarget and whole: one instruction, of which nothing but the first byte may be a target. */
static int check_single(struct x86_request *r, uintptr_t end)
{
	uintptr_t addr = r->plan->points[0].addr;
	int why;

	if (r->plan->npoints != 1)
		return -TL_E_NEIGHBOUR;
	if (x86_any_target(r->code, addr + 1, end, &why))
		return why;
	return x86_claimed(r, addr, end) ? -TL_E_NEIGHBOUR : 0;
}

/* Of four bytes that change. */
static bool over_two_words(uintptr_t at)
{
	return (at ^ (at + 3)) >= sizeof(uint64_t);
}

static int try_retarget(struct x86_request *r)
{
	uintptr_t addr = r->plan->points[0].addr, end = addr + r->first.len;
	int ret;

	if (!x86_can_retarget(&r->first))
		return -TL_E_NOT_CALL;
	/* No breakpoint stands there meanwhile: a call cannot be made from another place. */
	if (r->code->run_stopped && over_two_words(end - 4))
		return -TL_E_TWO_WORDS;
	ret = check_single(r, end);
	if (ret)
		return ret;
	settle(r, TL_RUNG_RETARGET, addr, end, r->first.len);
	return 0;
}

static int try_whole(struct x86_request *r)
{
	uintptr_t addr = r->plan->points[0].addr;
	int ret;

	if (r->room < X86_JMP_LEN)
		return -TL_E_SHORT_INSN;
	ret = check_single(r, addr + X86_JMP_LEN);
	if (ret)
		return ret;
	settle(r, TL_RUNG_WHOLE, addr,
		addr + (r->first.len > X86_JMP_LEN ? r->first.len : X86_JMP_LEN), X86_JMP_LEN);
	return 0;
}

static int try_trap(struct x86_request *r)
{
	uintptr_t addr = r->plan->points[0].addr;

	if (r->plan->npoints != 1 || x86_claimed(r, addr, addr + 1))
		return -TL_E_NEIGHBOUR;
	settle(r, TL_RUNG_TRAP, addr, addr + r->first.len, 1);
	return 0;
}

/* --- window ------------------------------------------------------------------ */

/* Cost of the instructions in a window: calls that lose the return predictor weigh most. */
static unsigned insn_cost(const struct tl_insn *i)
{
	if (i->flow == TL_FLOW_CALL || i->flow == TL_FLOW_CALL_IND)
		return 30;
	return i->flow == TL_FLOW_JCC ? 2 : 1;
}

/*
 * Walk from w->start until five bytes and all points are covered; w->end is
 * then a boundary, or lies in the padding behind the function's last jump.
 * Padding behind another one is room, too: nobody runs it, be it breakpoints.
 */
static int stretch(struct x86_request *r, struct window *w)
{
	uintptr_t addr = w->start, code_end = r->code->start + r->code->size;
	uintptr_t want = w->start + X86_JMP_LEN;
	bool ended = false;
	struct tl_insn i;

	if (want < r->last_end)
		want = r->last_end;
	do {
		if (!x86_decode_at(r->code, addr, &i))
			return -TL_E_BAD_INSN;
		if (!(ended && tl_insn_is_padding(&i)) && !x86_can_join(&i, addr + i.len >= want))
			return -TL_E_NO_RELOCATE;
		ended = tl_insn_ends_block(&i) || (ended && tl_insn_is_padding(&i));
		if (x86_must_stay(r->code, &i))
			return -TL_E_SHADOW_STACK;
		w->cost += insn_cost(&i);
		addr += i.len;
	} while (addr < want && addr < code_end);
	if (addr < want) {
		if (!ended || want > code_end + r->code->after)
			return -TL_E_TOO_SHORT;
		addr = want;
	}
	w->end = addr;
	return addr - w->start > TL_PATCH_MAX ? -TL_E_TOO_SHORT : 0;
}

static int check_window(struct x86_request *r, struct window *w)
{
	int ret;

	w->cost = 0;
	ret = stretch(r, w);
	if (ret)
		return ret;
	if (x86_any_target(r->code, w->start + 1, w->end, &ret))
		return ret;
	if (x86_claimed(r, w->start, w->end))
		return -TL_E_NEIGHBOUR;
	if ((w->start & 7) + X86_JMP_LEN > 8)
		w->cost += 3; /* cannot be written by one aligned store */
	return 0;
}

static uintptr_t previous_boundary(const struct tl_code *code, uintptr_t addr)
{
	while (--addr >= code->start)
		if (x86_is_boundary(code, addr))
			return addr;
	return 0;
}

/* From the first point backwards: a window that starts earlier may end before an obstacle. */
static int find_window(struct x86_request *r, struct window *best)
{
	uintptr_t start = r->plan->points[0].addr;
	int first_why = 0;

	best->start = 0;
	for (unsigned n = 0; n < WINDOW_TRIES && start; n++) {
		struct window w = {.start = start};
		int ret = check_window(r, &w);

		if (!ret && (!best->start || w.cost < best->cost))
			*best = w;
		if (ret && !first_why)
			first_why = ret;
		/* Further back this start would be an inner byte. */
		if (x86_is_target(r->code, start) || r->last_end - start >= TL_PATCH_MAX)
			break;
		start = previous_boundary(r->code, start);
	}
	return best->start ? 0 : first_why;
}

static int try_window(struct x86_request *r)
{
	struct window w = {0};
	int ret;

	if (!r->code->complete)
		return -TL_E_BAD_INSN;
	if (r->code->indirect)
		return -TL_E_INDIRECT;
	ret = find_window(r, &w);
	if (ret)
		return ret;
	settle(r, TL_RUNG_WINDOW, w.start, w.end, X86_JMP_LEN);
	return 0;
}

/* --- the ladder ---------------------------------------------------------------- */

/* After an indirect branch, where the program goes on is known to the processor only. */
static bool post_possible(const struct tl_insn *i)
{
	return i->flow != TL_FLOW_JMP_IND && i->flow != TL_FLOW_CALL_IND;
}

/* The direction flag: of a part that sets it somewhere, or was not decoded to the end. */
uint8_t x86_port_of(const struct tl_code *code)
{
	return (code->complete ? code->port & X86_PORT_DF : X86_PORT_DF) |
	       (code->shadow_stack ? X86_PORT_SHADOW : 0);
}

static int prepare(struct x86_request *r)
{
	struct tl_plan *plan = r->plan;
	struct tl_insn i;
	int ret;

	for (unsigned n = 0; n < plan->npoints; n++) {
		uintptr_t addr = plan->points[n].addr;

		ret = tl_arch_can_probe(r->code, addr);
		if (ret)
			return ret;
		x86_decode_at(r->code, addr, &i);
		if (plan->points[n].post && !post_possible(&i))
			return -TL_E_POST_HANDLER;
		if (!n) {
			r->first = i;
			r->room = x86_insn_room(r->code, addr, &i);
		}
		r->last_end = addr + i.len;
	}
	plan->port = x86_port_of(r->code);
	return 0;
}

static enum tl_rung rung_of(unsigned step)
{
	if (step == X86_STEP_RETARGET)
		return TL_RUNG_RETARGET;
	if (step == X86_STEP_WHOLE)
		return TL_RUNG_WHOLE;
	if (step == X86_STEP_WINDOW)
		return TL_RUNG_WINDOW;
	if (step < X86_STEP_EVICT)
		return TL_RUNG_PUN;
	return step < X86_STEP_TRAP ? TL_RUNG_EVICT : TL_RUNG_TRAP;
}

/*
 * Who set a breakpoint takes it away again, and steps over the instruction
 * that was there: nothing next to it may move or depend on its bytes.
 */
static bool others_bytes(const struct x86_request *r, enum tl_rung rung)
{
	return r->code->port & X86_PORT_BREAK &&
	       (rung == TL_RUNG_PUN || rung == TL_RUNG_EVICT || rung == TL_RUNG_WINDOW);
}

/* Why none of this rung's candidates is tried. */
static int rung_refused(const struct x86_request *r, enum tl_rung rung, unsigned allowed)
{
	if (!(allowed >> rung & 1))
		return -TL_E_OPT_OFF;
	if (others_bytes(r, rung))
		return -TL_E_RESERVED;
	if (rung != TL_RUNG_RETARGET && x86_must_stay(r->code, &r->first))
		return -TL_E_SHADOW_STACK;
	return 0;
}

/* Returns NOT_ONE where this instruction has no such candidate. */
static int try_step(struct x86_request *r, enum tl_rung rung, unsigned step)
{
	bool wide;

	switch (rung) {
	case TL_RUNG_RETARGET:
		return try_retarget(r);
	case TL_RUNG_WHOLE:
		return try_whole(r);
	case TL_RUNG_WINDOW:
		return try_window(r);
	case TL_RUNG_PUN:
		wide = x86_pun_is_wide(r);
		if (step == X86_STEP_WIDE_PUN || step == X86_STEP_PUN)
			return wide == (step == X86_STEP_WIDE_PUN) ? x86_try_pun(r, 0) : NOT_ONE;
		return x86_try_pun(r, step - X86_STEP_PUN);
	case TL_RUNG_EVICT:
		return x86_try_evict(r, step - X86_STEP_EVICT);
	default:
		return try_trap(r);
	}
}

int x86_check_reach(const struct tl_plan *plan)
{
	if (plan->reach_lo >= plan->reach_hi || plan->reach_hi - plan->reach_lo < TL_DETOUR_MAX)
		return -TL_E_OUT_OF_REACH;
	if (plan->fit.mask &&
		tl_fit_next(&plan->fit, plan->reach_lo) > plan->reach_hi - TL_DETOUR_MAX)
		return -TL_E_OUT_OF_REACH;
	return 0;
}

static int check_detour(struct tl_plan *plan)
{
	int ret = x86_check_reach(plan);
	size_t bound;

	if (ret)
		return ret;
	bound = tl_arch_detour_bound(plan);
	plan->bound = bound > TL_DETOUR_MAX ? 0 : (uint16_t)bound;
	return plan->bound ? 0 : -TL_E_LIMIT;
}

/* A rung that has several candidates keeps the reason against the first. */
static int descend(struct x86_request *r, unsigned allowed, unsigned step)
{
	struct tl_plan *plan = r->plan;
	int ret = -TL_E_OPT_OFF;

	for (; step <= X86_STEP_TRAP; step += 1 + r->skip) {
		unsigned rung = rung_of(step);
		int why = rung_refused(r, rung, allowed);

		/* Evictions are so many that passing them one by one takes a millisecond. */
		r->skip = why && rung == TL_RUNG_EVICT ? X86_STEP_TRAP - 1 - step : 0;
		if (!why)
			why = try_step(r, rung, step);
		if (!why)
			why = check_detour(plan);
		plan->step = step;
		if (!why) {
			plan->why[rung] = 0;
			return 0;
		}
		if (!plan->why[rung] && why != NOT_ONE)
			plan->why[rung] = why;
	}
	for (unsigned n = TL_RUNG_RETARGET; n <= TL_RUNG_TRAP; n++)
		if (plan->why[n] && plan->why[n] != -TL_E_OPT_OFF)
			ret = plan->why[n];
	return ret;
}

int tl_arch_plan(struct tl_plan *plan, const struct tl_code *code, unsigned allowed,
	const struct tl_ground *ground)
{
	struct x86_request r = {.plan = plan, .code = code, .ground = ground};
	int ret;

	if (!plan->npoints || plan->npoints > TL_POINTS_MAX)
		return -TL_E_INVAL;
	for (unsigned n = 0; n <= TL_RUNG_TRAP; n++)
		plan->why[n] = 0;
	ret = prepare(&r);
	return ret ? ret : descend(&r, allowed, 0);
}

int tl_arch_plan_next(struct tl_plan *plan, const struct tl_code *code, unsigned allowed,
	const struct tl_ground *ground)
{
	struct x86_request r = {.plan = plan, .code = code, .ground = ground};
	int ret = prepare(&r);

	return ret ? ret : descend(&r, allowed, plan->step + 1u);
}

bool tl_arch_plan_jumps(const struct tl_plan *plan)
{
	bool jumps = false;
	struct tl_insn i;

	for (unsigned at = 0; at < plan->len && !jumps; at += i.len) {
		if (!tl_insn_decode(&i, plan->orig + at, plan->len - at, TL_INSN_64))
			break; /* all were decoded when planned */
		jumps = i.flow == TL_FLOW_JCC || i.flow == TL_FLOW_JMP || i.flow == TL_FLOW_JMP_IND;
	}
	return jumps;
}
