/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/* Detours: a plan's instructions, with the calls of handlers between them, and the way back. */
#include "../../core/detour/site.h"
#include "../../core/detour/thread.h"
#include "x86.h"

enum { ALIGNMENT = 8 }; /* of constants, and what it may take */

#define CALLS_MAX (TL_POINTS_MAX * 2)

struct build {
	struct x86_emit *e;
	const struct tl_plan *plan;
	const struct tl_detour_env *env;
	struct x86_shape shape;
	struct x86_template *around; /* the only call's, NULL: written out */
	size_t head; /* where that stands */
	struct x86_call calls[CALLS_MAX];
	unsigned ncalls;
};

static void add_call(
	struct build *b, const struct tl_point *p, uintptr_t ip, bool post, int32_t pushed)
{
	struct x86_call *c = &b->calls[b->ncalls];

	if (b->around) {
		b->head = b->e->n;
		x86_template_head(b->around, b->e);
		return;
	}
	if (b->ncalls == CALLS_MAX) {
		b->e->err = -TL_E_LIMIT;
		return;
	}
	b->ncalls++;
	*c = (struct x86_call){.point = p, .ip = ip, .pushed = pushed, .post = post};
	x86_handler(b->e, &b->shape, b->env, c);
}

static const struct tl_point *point_at(const struct tl_plan *plan, uintptr_t addr)
{
	for (unsigned i = 0; i < plan->npoints; i++)
		if (plan->points[i].addr == addr)
			return &plan->points[i];
	return NULL;
}

/* A branch with a post handler: both ways call it. */
static void branch_with_post(struct build *b, const struct tl_insn *i, const struct tl_point *p)
{
	uintptr_t target = (uintptr_t)tl_insn_target(i, p->addr), next = p->addr + i->len;
	struct x86_label taken = {0}, over = {0};

	if (i->flags & TL_INSN_LOOP) {
		x86_bytes(b->e, i->bytes, i->imm_off);
		x86_byte(b->e, 2);
		x86_mark(b->e, TL_PLACE_COPY, next);
		x86_put(b->e, 0xeb | X86_JMP_LEN << 8, 2);
		x86_mark(b->e, TL_PLACE_COPY, target);
		x86_jmp_label(b->e, &taken);
	} else {
		x86_jcc_label(b->e, i->cond, &taken);
	}
	x86_mark(b->e, TL_PLACE_COPY, next);
	add_call(b, p, next, true, 0);
	x86_mark(b->e, TL_PLACE_COPY, next);
	x86_jmp_label(b->e, &over);
	x86_label_here(b->e, &taken);
	x86_mark(b->e, TL_PLACE_COPY, target);
	add_call(b, p, target, true, 0);
	x86_mark(b->e, TL_PLACE_COPY, target);
	x86_jmp_to(b->e, target);
	x86_label_here(b->e, &over);
}

/* ret $n: n. */
static int32_t pops(const struct tl_insn *i)
{
	return i->imm_size == 2 ? i->bytes[i->imm_off] | i->bytes[i->imm_off + 1] << 8 : 0;
}

/* The instruction at `addr`, with the handlers of its point. */
static void one(struct build *b, const struct tl_insn *i, uintptr_t addr)
{
	const struct tl_point *p = point_at(b->plan, addr);
	bool retarget = b->plan->rung == TL_RUNG_RETARGET;
	uintptr_t target = (uintptr_t)tl_insn_target(i, addr);

	if (!retarget)
		x86_mark(b->e, TL_PLACE_ENTRY, addr);
	else if (tl_insn_is_direct_branch(i))
		x86_mark(b->e, TL_PLACE_COPY, target);
	if (p)
		add_call(b, p, addr, false, b->shape.pushed);
	if (retarget) {
		if (p && p->post)
			add_call(b, p, target, true, 0);
		x86_displace_retargeted(b->e, i, addr);
		return;
	}
	x86_mark(b->e, TL_PLACE_COPY, addr);
	if (!p || !p->post) {
		x86_displace(b->e, i, addr);
	} else if (i->flow == TL_FLOW_JCC) {
		branch_with_post(b, i, p);
	} else if (i->flow == TL_FLOW_RET) {
		/* Called just before it, with the registers that it will leave. */
		add_call(b, p, 0, true, 8 + pops(i));
		x86_mark(b->e, TL_PLACE_COPY, addr);
		x86_displace(b->e, i, addr);
	} else if (i->flow == TL_FLOW_CALL || i->flow == TL_FLOW_JMP) {
		if (i->flow == TL_FLOW_CALL) {
			x86_put(b->e, 0xff | 0x35 << 8, 2); /* push ret(%rip) */
			x86_lit32(b->e, addr + i->len);
		}
		x86_mark(b->e, TL_PLACE_COPY, target);
		add_call(b, p, target, true, 0);
		x86_mark(b->e, TL_PLACE_COPY, target);
		x86_jmp_to(b->e, target);
	} else {
		x86_displace(b->e, i, addr);
		x86_mark(b->e, TL_PLACE_COPY, addr + i->len);
		add_call(b, p, addr + i->len, true, 0);
	}
}

static void shape_of(struct x86_shape *s, const struct tl_plan *plan, const struct tl_insn *first)
{
	uint32_t gives = tl_plan_gives(plan);

	*s = (struct x86_shape){.full = gives & TL_PROBE_REGS, .big = gives & TL_PROBE_BIG_STACK};
	s->df = plan->port & X86_PORT_DF;
	s->early = plan->early;
	s->shadow_stack = plan->port & X86_PORT_SHADOW;
	s->no_red_zone = plan->no_red_zone && !s->shadow_stack; /* a way takes it away: way.c */
	s->below = s->no_red_zone ? (int32_t)sizeof(struct tl_regs) : X86_BELOW;
	if (plan->rung == TL_RUNG_RETARGET && first->flow != TL_FLOW_JMP)
		s->pushed = 8;
}

/* One point before whose instruction a handler is called, and nothing else. */
static bool is_plain(const struct tl_plan *plan)
{
	return plan->npoints == 1 && !plan->points[0].post && plan->rung != TL_RUNG_RETARGET;
}

static void begin(struct build *b, const struct tl_insn *first)
{
	shape_of(&b->shape, b->plan, first);
	if (is_plain(b->plan))
		b->around = x86_template_for(b->e, &b->shape, b->env, &b->plan->points[0]);
}

static int emit_insns(struct build *b)
{
	const struct tl_plan *plan = b->plan;
	uintptr_t addr = plan->start,
		  last = plan->npoints ? plan->points[plan->npoints - 1].addr : addr;
	struct tl_insn i;

	while (addr < plan->start + plan->len) {
		size_t off = addr - plan->start;

		if (!x86_decode(&i, plan->orig + off, plan->len - off))
			return -TL_E_BAD_INSN;
		if (addr == plan->start)
			begin(b, &i);
		one(b, &i, addr);
		addr += i.len;
		/* Behind a jump nothing runs: padding. */
		if ((tl_insn_ends_block(&i) || plan->rung == TL_RUNG_RETARGET) && addr > last)
			return 0;
	}
	if (i.flow == TL_FLOW_CALL || i.flow == TL_FLOW_CALL_IND)
		return 0; /* it returns to the text */
	x86_mark(b->e, TL_PLACE_COPY, addr);
	x86_jmp_to(b->e, addr);
	return 0;
}

static int emit(struct x86_emit *e, const struct tl_plan *plan, const struct tl_detour_env *env)
{
	struct build b; /* its calls hold nothing yet */
	int ret;

	b.e = e;
	b.plan = plan;
	b.env = env;
	b.around = NULL;
	b.ncalls = 0;
	ret = emit_insns(&b);
	if (ret)
		return ret;
	if (b.around)
		x86_template_tail(b.around, e, b.head);
	else
		x86_handler_tails(e, &b.shape, env, b.calls, b.ncalls);
	x86_finish(e);
	return e->err ? e->err : (int)e->n;
}

int tl_arch_detour_build(
	const struct tl_plan *plan, const struct tl_detour_env *env, uintptr_t at, uint8_t *buf)
{
	struct x86_emit e = {.buf = buf, .at = at, .max = TL_DETOUR_MAX};

	return emit(&e, plan, env);
}

/* Where text and detour correspond. False: it cannot be built. */
static bool marks_of(const struct tl_plan *plan, const struct tl_detour_env *env, uintptr_t at,
	struct x86_marks *marks)
{
	uint8_t buf[TL_DETOUR_MAX];
	struct x86_emit e = {.buf = buf, .at = at, .max = TL_DETOUR_MAX, .marks = marks};

	marks->n = 0;
	return emit(&e, plan, env) >= 0;
}

/* Where it may lie, aligned. */
static uintptr_t lowest(const struct tl_plan *plan)
{
	uintptr_t at = plan->start > plan->reach_lo ? plan->start : plan->reach_lo;

	return at & ~(uintptr_t)(ALIGNMENT - 1);
}

/* In the longest forms; the real one can only be shorter, but for alignment. */
static size_t longest(const struct tl_plan *plan)
{
	const struct tl_detour_env any = {
		.enter_slow =
			(struct tl_thread * (*)(struct tl_site *, uintptr_t, uintptr_t)) INTPTR_MAX,
		.tid_offset = 1,
		.fast_key = true,
	};
	uint8_t buf[TL_DETOUR_MAX];
	struct x86_emit e = {.buf = buf, .at = lowest(plan), .max = TL_DETOUR_MAX, .longest = true};
	int size = emit(&e, plan, &any);

	return size < 0 ? SIZE_MAX : (size_t)size + ALIGNMENT;
}

/* Of one point without a post handler, around the displaced instructions: depends on its shape alone. */
static size_t longest_around(const struct tl_plan *plan)
{
	static uint16_t known[32];
	const uintptr_t anywhere = 4096;
	const uint8_t nop = 0x90;
	unsigned flags = plan->points[0].flags;
	unsigned shape = (flags & TL_PROBE_REGS ? 1u : 0) | (flags & TL_PROBE_BIG_STACK ? 2u : 0) |
			 (plan->port & X86_PORT_DF ? 4u : 0) | (plan->early ? 8u : 0) |
			 (plan->port & X86_PORT_SHADOW ? 16u : 0);

	if (!known[shape]) {
		struct tl_plan bare = {.rung = TL_RUNG_WINDOW,
			.port = plan->port,
			.npoints = 1,
			.len = sizeof(nop),
			.early = plan->early,
			.start = anywhere,
			.orig = {nop},
			.points = {{.addr = anywhere, .flags = flags}}};

		known[shape] = (uint16_t)longest(&bare);
	}
	return known[shape];
}

/* The displaced instructions alone. */
static size_t longest_displaced(const struct tl_plan *plan)
{
	uint8_t buf[TL_DETOUR_MAX];
	struct x86_emit e = {.buf = buf, .at = lowest(plan), .max = sizeof(buf), .longest = true};
	struct tl_insn i;

	for (size_t off = 0; off < plan->len; off += i.len) {
		if (!x86_decode(&i, plan->orig + off, plan->len - off))
			return SIZE_MAX;
		x86_displace(&e, &i, plan->start + off);
		if (tl_insn_ends_block(&i) && plan->start + off >= plan->points[0].addr)
			break;
	}
	x86_finish(&e);
	return e.err ? SIZE_MAX : e.n + ALIGNMENT;
}

size_t tl_arch_detour_bound(const struct tl_plan *plan)
{
	size_t displaced;

	if (!is_plain(plan))
		return longest(plan);
	displaced = longest_displaced(plan);
	return displaced == SIZE_MAX ? SIZE_MAX : longest_around(plan) + displaced;
}

uintptr_t tl_arch_ip_to_text(
	const struct tl_plan *plan, const struct tl_detour_env *env, uintptr_t at, uintptr_t ip)
{
	struct x86_marks marks;

	if (!marks_of(plan, env, at, &marks))
		return 0;
	for (unsigned i = 0; i < marks.n; i++)
		if (at + marks.mark[i].off == ip && marks.mark[i].what != TL_PLACE_PUSHED)
			return marks.mark[i].text;
	return 0;
}

uintptr_t tl_arch_ip_to_detour(
	const struct tl_plan *plan, const struct tl_detour_env *env, uintptr_t at, uintptr_t ip)
{
	struct x86_marks marks;

	if (plan->rung == TL_RUNG_RETARGET)
		return ip == plan->start ? ip : 0;
	if (!marks_of(plan, env, at, &marks))
		return 0;
	for (unsigned i = 0; i < marks.n; i++)
		if (marks.mark[i].what == TL_PLACE_ENTRY && marks.mark[i].text == ip)
			return at + marks.mark[i].off;
	return 0;
}

void tl_arch_detour_places(const struct tl_plan *plan, const struct tl_detour_env *env,
	uintptr_t at, void (*fn)(void *arg, uintptr_t ip, uintptr_t text, enum tl_place what),
	void *arg)
{
	struct x86_marks marks;

	if (!marks_of(plan, env, at, &marks))
		return;
	for (unsigned i = 0; i < marks.n; i++)
		fn(arg, at + marks.mark[i].off, marks.mark[i].text, marks.mark[i].what);
}
