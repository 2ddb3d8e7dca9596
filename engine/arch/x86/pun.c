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

/* Prefixes for the neighbour's jump: as the last byte of our displacement each leads elsewhere. */
static const uint8_t prefixes[] = {0, 0x2e, 0x3e, 0x26, 0x36, 0x64, 0x40, 0x48};

_Static_assert(
	X86_EVICTIONS == 4 * sizeof(prefixes), "form of our jump and prefix of the neighbour's");

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
		s->rel[s->n] = 0;
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
	uint8_t prefix; /* of the neighbour's; 0: none */
};

static struct eviction eviction(unsigned which)
{
	return (struct eviction){which % 4, prefixes[which / 4]};
}

/* How the neighbour's bytes will look: prefixes, opcode, displacement, and what follows. */
static void share_jump(struct tl_plan *q, const struct tl_code *code, struct shared *s)
{
	unsigned rel = q->form + 1u;

	share_text(code, q->start, s);
	if (q->rung == TL_RUNG_RETARGET) {
		tl_arch_patch_bytes(q, q->start, s->value);
		rel = q->len - 4u;
	} else {
		for (unsigned n = 0; n < q->form; n++)
			s->value[n] = q->prefix;
		s->value[q->form] = JMP;
	}
	for (unsigned n = 0; n < 4 && rel + n < q->changed; n++)
		s->rel[rel + n] = (uint8_t)(n + 1);
}

/* The neighbour's own patch, but for where its detour lies: 0 or the reason why it must stay. */
static int neighbour(const struct tl_code *code, uintptr_t addr, uint8_t prefix, struct tl_plan *q)
{
	unsigned form = prefix != 0;
	struct tl_insn i;
	int why = tl_arch_can_probe(code, addr);

	if (why)
		return -TL_E_NO_MOVE;
	x86_decode_at(code, addr, &i);
	q->npoints = 0;
	if (x86_can_retarget(&i)) {
		x86_settle(q, code, TL_RUNG_RETARGET, addr, addr + i.len);
		q->changed = i.len;
		return prefix ? -TL_E_NO_MOVE : 0;
	}
	x86_settle(q, code, i.len >= X86_JMP_LEN ? TL_RUNG_WHOLE : TL_RUNG_PUN, addr, addr + i.len);
	q->form = (uint8_t)form;
	q->prefix = prefix;
	q->changed = (uint8_t)(form + X86_JMP_LEN < i.len ? form + X86_JMP_LEN : i.len);
	if (q->held < form + X86_JMP_LEN)
		q->held = (uint8_t)(form + X86_JMP_LEN);
	if (form >= q->changed || x86_any_target(code, addr + 1, addr + q->changed, &why))
		return -TL_E_NO_MOVE;
	return 0;
}

int x86_try_evict(struct x86_request *r, unsigned which)
{
	uintptr_t addr = r->plan->points[0].addr, next = addr + r->first.len;
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
	ret = neighbour(r->code, next, e.prefix, &q);
	if (ret)
		return ret;
	if (r->claimed(r->arg, addr, next + q.held))
		return -TL_E_NEIGHBOUR;
	x86_settle(r->plan, r->code, TL_RUNG_EVICT, addr, next);
	r->plan->moved = next;
	share_jump(&q, r->code, &s);
	return fit(r->plan, e.form, own, &s);
}

int tl_arch_plan_moved(
	const struct tl_plan *plan, uintptr_t at, const struct tl_code *code, struct tl_plan *q)
{
	struct eviction e = eviction(plan->step - X86_STEP_EVICT);
	uint32_t ours = (uint32_t)(at - (plan->start + plan->form + X86_JMP_LEN));
	struct shared s;
	unsigned rel;
	int ret = neighbour(code, plan->moved, e.prefix, q);

	if (ret)
		return ret;
	q->port = plan->port;
	share_jump(q, code, &s);
	rel = q->rung == TL_RUNG_RETARGET ? q->len - 4u : q->form + 1u;
	q->fit.from = q->start + rel + 4;
	for (unsigned n = 0; n < 4; n++) {
		unsigned i = rel + n; /* in the neighbour; its byte of our displacement: */
		unsigned k = plan->changed + i - (plan->form + 1u);
		bool shared = i < q->changed && plan->changed + i > plan->form && k < 4;

		if (i < q->changed && !shared)
			continue;
		q->fit.mask |= 0xffu << (8 * n);
		q->fit.match |= (shared ? ours >> (8 * k) & 0xff : (uint32_t)s.value[i]) << (8 * n);
	}
	return 0;
}
