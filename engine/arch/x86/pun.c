/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/*
 * Jumps over instructions shorter than a jump. The displacement's last bytes
 * are bytes of the text that stay as they are (a pun), or those of a jump by
 * which the next instruction is moved away first (an eviction). Prefixes
 * without effect in front of the opcode shift what is shared.
 */
#include "x86.h"

#define JMP    0xe9
#define PREFIX 0x2e /* no effect on a direct jump */
#define SHARED 16

/*
 * Prefixes for the neighbour's jump. As the last byte of our displacement each
 * leads elsewhere; several of them shift what the neighbour itself shares.
 */
static const struct padding {
	uint8_t count, value;
} paddings[] = {{0, 0}, {1, 0x2e}, {1, 0x3e}, {1, 0x26}, {1, 0x64}, {1, 0x40}, {1, 0x48}, {2, 0x2e},
	{2, 0x64}, {3, 0x2e}, {3, 0x64}};

_Static_assert(X86_EVICTIONS == 4 * 4 * sizeof(paddings) / sizeof(paddings[0]),
	"form of our jump, which neighbour, and the padding of its jump");

/* What will stand behind the bytes that are ours. */
struct shared {
	unsigned n;
	uint8_t value[SHARED];
	uint8_t rel
		[SHARED]; /* 1 + which byte of the neighbour's displacement, to be chosen; 0: value */
};

/* Bytes of the instruction that may change: up to the first that a branch leads to. */
static unsigned own_bytes(const struct x86_request *r)
{
	uintptr_t addr = r->plan->points[0].addr;
	unsigned n = 1;

	while (n < r->first.len && n < X86_JMP_LEN && !x86_is_target(r->code, addr + n))
		n++;
	return n;
}

/* The text from addr on, as far as it is known. */
static void share_text(const struct tl_code *code, uintptr_t addr, struct shared *s)
{
	size_t off = addr - code->start;

	for (s->n = 0; s->n < SHARED && off + s->n < code->known; s->n++) {
		s->value[s->n] = code->text[off + s->n];
		s->rel[s->n] = false;
	}
}

/* Places the jump with `form` prefixes and `own` bytes of its own in front of `s`. */
static int fit(struct tl_plan *plan, unsigned form, unsigned own, const struct shared *s)
{
	uintptr_t addr = plan->start;

	if (form + X86_JMP_LEN > own + s->n)
		return -TL_E_OUT_OF_REACH;
	plan->form = (uint8_t)form;
	plan->prefix = PREFIX;
	plan->changed = (uint8_t)own;
	plan->held = (uint8_t)(form + X86_JMP_LEN);
	plan->fit = (struct tl_fit){.from = addr + form + X86_JMP_LEN};
	for (unsigned n = 0; n < 4; n++) {
		unsigned i = form + 1 + n;

		if (i < own || s->rel[i - own])
			continue;
		plan->fit.mask |= 0xffu << (8 * n);
		plan->fit.match |= (uint32_t)s->value[i - own] << (8 * n);
	}
	if (plan->held < plan->len)
		plan->held = plan->len;
	return 0;
}

static int check_short(const struct x86_request *r, unsigned form, unsigned own)
{
	if (r->plan->npoints != 1)
		return -TL_E_NEIGHBOUR;
	if (own >= X86_JMP_LEN) /* a whole jump fits, or something is against that */
		return r->plan->why[TL_RUNG_WHOLE] ? r->plan->why[TL_RUNG_WHOLE] : -TL_E_INVAL;
	return form < own ? 0 : -TL_E_INVAL; /* no such candidate */
}

bool x86_pun_is_wide(const struct x86_request *r)
{
	return own_bytes(r) == X86_JMP_LEN - 1;
}

int x86_try_pun(struct x86_request *r, unsigned form)
{
	uintptr_t addr = r->plan->points[0].addr;
	uintptr_t end = addr + r->first.len, jump_end = addr + form + X86_JMP_LEN;
	unsigned own = own_bytes(r);
	int ret = check_short(r, form, own);
	struct shared s;

	if (ret)
		return ret;
	if (r->claimed(r->arg, addr, end > jump_end ? end : jump_end))
		return -TL_E_NEIGHBOUR;
	x86_settle(r->plan, r->code, TL_RUNG_PUN, addr, end);
	share_text(r->code, addr + own, &s);
	return fit(r->plan, form, own, &s);
}

/* --- the neighbour -------------------------------------------------------------- */

struct eviction {
	unsigned form; /* of our jump */
	unsigned steps; /* from the next instruction on */
	struct padding padding; /* of the neighbour's */
};

static struct eviction eviction(unsigned which)
{
	return (struct eviction){which % 4, which / 4 % 4, paddings[which / 16]};
}

/* The instruction so many steps behind addr, if the jump reaches into it; else 0. */
static uintptr_t step_on(const struct tl_code *code, uintptr_t addr, unsigned steps, uintptr_t end)
{
	struct tl_insn i;

	while (steps-- && addr < end) {
		if (!x86_decode_at(code, addr, &i))
			return 0;
		addr += i.len;
	}
	return addr < end ? addr : 0;
}

/* Where in the neighbour's jump its displacement begins. */
static unsigned displacement(const struct tl_plan *q)
{
	return q->rung == TL_RUNG_RETARGET ? q->len - 4u : q->form + 1u;
}

/* The text from `from` on, as it will be with the neighbour's jump in it. */
static void share_jump(
	const struct tl_plan *q, const struct tl_code *code, uintptr_t from, struct shared *s)
{
	unsigned first = (unsigned)(q->start - from);
	uint8_t jump[TL_PATCH_MAX];

	share_text(code, from, s);
	tl_arch_patch_bytes(q, q->start, jump);
	for (unsigned n = 0; n < q->changed && first + n < SHARED; n++) {
		s->value[first + n] = jump[n];
		s->rel[first + n] = n >= displacement(q) && n < displacement(q) + 4;
	}
}

/* The neighbour's own patch, but for where its detour lies: 0 or the reason why it must stay. */
static int neighbour(
	const struct tl_code *code, uintptr_t addr, struct padding padding, struct tl_plan *q)
{
	unsigned form = padding.count;
	struct tl_insn i;
	int why = tl_arch_can_probe(code, addr);

	if (why)
		return -TL_E_NO_MOVE;
	x86_decode_at(code, addr, &i);
	q->npoints = 0;
	if (x86_can_retarget(&i)) {
		x86_settle(q, code, TL_RUNG_RETARGET, addr, addr + i.len);
		q->changed = i.len;
		return form ? -TL_E_NO_MOVE : 0;
	}
	x86_settle(q, code, i.len >= X86_JMP_LEN ? TL_RUNG_WHOLE : TL_RUNG_PUN, addr, addr + i.len);
	q->form = (uint8_t)form;
	q->prefix = padding.value;
	q->changed = (uint8_t)(form + X86_JMP_LEN < i.len ? form + X86_JMP_LEN : i.len);
	if (q->held < form + X86_JMP_LEN)
		q->held = (uint8_t)(form + X86_JMP_LEN);
	if (form >= q->changed || x86_any_target(code, addr + 1, addr + q->changed, &why))
		return -TL_E_NO_MOVE;
	return 0;
}

int x86_try_evict(struct x86_request *r, unsigned which)
{
	uintptr_t addr = r->plan->points[0].addr, next = addr + r->first.len, moved;
	struct eviction e = eviction(which);
	unsigned own = own_bytes(r);
	int ret = check_short(r, e.form, own);
	struct tl_plan q = {.port = r->plan->port};
	struct shared s;

	if (ret)
		return ret;
	if (own !=
		r->first.len) /* the branch that leads to the inner byte needs what follows, too */
		return -TL_E_BRANCH_INTO;
	moved = step_on(r->code, next, e.steps, addr + e.form + X86_JMP_LEN);
	if (!moved)
		return -TL_E_INVAL;
	ret = neighbour(r->code, moved, e.padding, &q);
	if (ret)
		return ret;
	if (r->claimed(r->arg, addr, moved + q.held))
		return -TL_E_NEIGHBOUR;
	x86_settle(r->plan, r->code, TL_RUNG_EVICT, addr, next);
	r->plan->moved = moved;
	share_jump(&q, r->code, next, &s);
	return fit(r->plan, e.form, own, &s);
}

int tl_arch_plan_moved(
	const struct tl_plan *plan, uintptr_t at, const struct tl_code *code, struct tl_plan *q)
{
	struct eviction e = eviction(plan->step - X86_STEP_EVICT);
	uint32_t ours = (uint32_t)(at - (plan->start + plan->form + X86_JMP_LEN));
	unsigned before = (unsigned)(plan->moved - plan->start), rel;
	struct shared s;
	int ret = neighbour(code, plan->moved, e.padding, q);

	if (ret)
		return ret;
	q->port = plan->port;
	share_text(code, q->start, &s);
	rel = displacement(q);
	q->fit.from = q->start + rel + 4;
	for (unsigned n = 0; n < 4; n++) {
		unsigned i = rel + n; /* in the neighbour; its byte of our displacement: */
		unsigned k = before + i - (plan->form + 1u);
		bool shared = i < q->changed && before + i > plan->form && k < 4;

		if (i < q->changed && !shared)
			continue;
		q->fit.mask |= 0xffu << (8 * n);
		q->fit.match |= (shared ? ours >> (8 * k) & 0xff : (uint32_t)s.value[i]) << (8 * n);
	}
	return 0;
}
