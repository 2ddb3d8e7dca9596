/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/*
 * What functions of Go take of their goroutine's stack.
 *
 * All that a function pushes or subtracts counts, and nothing that it gives
 * back: no flow of control needs to be followed, and for what Go's compiler
 * makes the sum is exact. Where a function loads another stack pointer it goes
 * on somewhere else, on the system's stack, or goes back: that is not deeper.
 */
#include "x86.h"

enum {
	SLOW_PATH = 256,
	WORD = 8,
	NO_REG = 0xff,
	GUARD = 0x10,
	FS = 0x64,
	CC_BELOW = 2,
	CC_BELOW_EQUAL = 6
};

const int tl_arch_call_pushes = WORD;

/* A retargeted call's or a post handler's return address, alignment, and the call of what finds the record. */
int tl_arch_stack_taken(bool first)
{
	return (int)sizeof(struct tl_regs) + 3 * WORD + (first ? SLOW_PATH : 0);
}

static bool on_register(const struct tl_insn *i, uint8_t reg)
{
	return x86_modrm(i) >> 6 == 3 && x86_rm_field(i) == reg;
}

static int64_t immediate(const struct tl_insn *i)
{
	uint32_t v = 0;

	for (unsigned n = 0; n < i->imm_size && n < sizeof(v); n++)
		v |= (uint32_t)i->bytes[i->imm_off + n] << (8 * n);
	return i->imm_size == 1 ? (int8_t)v : (int32_t)v;
}

/* add, sub and the like of an immediate, by its number; -1: another instruction. */
static int by_immediate(const struct tl_insn *i)
{
	return x86_legacy(i, 0, 0x81) || x86_legacy(i, 0, 0x83) ? x86_modrm(i) >> 3 & 7 : -1;
}

/* lea d(%rsp) */
static bool lea_of_sp(const struct tl_insn *i)
{
	return x86_legacy(i, 0, 0x8d) && x86_modrm(i) >> 6 != 3 && (x86_modrm(i) & 7) == 4 &&
	       i->bytes[i->modrm_off + 1] == 0x24 && !(i->rex & 3);
}

/* mov from register to register: both, NO_REG: it is none. */
static uint8_t moved_to(const struct tl_insn *i, uint8_t *from)
{
	bool load = x86_legacy(i, 0, 0x8b);

	if (!(load || x86_legacy(i, 0, 0x89)) || x86_modrm(i) >> 6 != 3)
		return NO_REG;
	*from = load ? x86_rm_field(i) : x86_reg_field(i);
	return load ? x86_reg_field(i) : x86_rm_field(i);
}

/* --- depth ------------------------------------------------------------------------- */

static uint32_t lowered(int64_t by)
{
	return by <= 0 ? 0 : by < TL_STACK_UNKNOWN ? (uint32_t)by : TL_STACK_UNKNOWN;
}

/* The stack pointer is set otherwise than by a push. */
static uint32_t set_by(const struct tl_insn *i)
{
	enum { ADD = 0, AND = 4, SUB = 5 };
	int op = by_immediate(i);

	if (lea_of_sp(i))
		return lowered(-i->disp);
	if (op == SUB)
		return lowered(immediate(i));
	if (op == ADD)
		return lowered(-immediate(i));
	if (op == AND)
		return lowered(immediate(i) < 0 ? ~immediate(i) : TL_STACK_UNKNOWN);
	if (x86_legacy(i, 0, 0x8b) || x86_legacy(i, 0, 0x89) || x86_legacy(i, 0, 0x87) ||
		x86_legacy(i, 0, 0x5c) || x86_legacy(i, 0, 0xc9))
		return 0; /* mov, xchg, pop %rsp, leave */
	return TL_STACK_UNKNOWN;
}

static bool pushes(const struct tl_insn *i)
{
	unsigned op = i->opcode;

	if (i->map == 0)
		return (op >= 0x50 && op <= 0x57) || op == 0x68 || op == 0x6a || op == 0x9c ||
		       (op == 0xff && (x86_modrm(i) >> 3 & 7) == 6);
	return i->map == 1 && (op == 0xa0 || op == 0xa8);
}

static uint32_t takes(const struct tl_insn *i)
{
	if (i->flags & (TL_INSN_VEX | TL_INSN_EVEX | TL_INSN_REX2))
		return i->flags & TL_INSN_SETS_SP || (i->map == 4 && i->opcode == 0xff)
			       ? TL_STACK_UNKNOWN
			       : 0;
	if (i->flags & TL_INSN_SETS_SP)
		return set_by(i);
	return i->flags & TL_INSN_USES_SP && pushes(i) ? WORD : 0;
}

/* --- the check --------------------------------------------------------------------------- */

/*
 * cmp 0x10(%r14),%rsp; jbe. Of larger frames what is compared is computed first, and where r14 is not the
 * goroutine (its own assembly) that is loaded.
 */
struct check {
	bool over, compared;
	uint8_t reg, g; /* what will be compared, the goroutine */
	int64_t spare;
};

static bool compares(const struct tl_insn *i, const struct check *c)
{
	uint8_t mode = x86_modrm(i) >> 6, base = x86_rm_field(i);

	return x86_legacy(i, 0, 0x3b) && i->op_size == 8 && mode == 1 && (base & 7) != 4 &&
	       i->disp == GUARD && (base == R14 || base == c->g) && x86_reg_field(i) == c->reg;
}

/* One instruction more of what may be a check. False: it is none. */
static bool prepares(struct check *c, const struct tl_insn *i)
{
	uint8_t from = NO_REG, to = moved_to(i, &from);

	if (lea_of_sp(i) && x86_reg_field(i) != RSP && i->disp <= 0) {
		c->reg = x86_reg_field(i);
		c->spare = -i->disp;
	} else if (to != NO_REG && from == RSP) {
		c->reg = to;
		c->spare = 0;
	} else if (by_immediate(i) == 5 && c->reg != RSP && on_register(i, c->reg)) {
		c->spare += immediate(i);
	} else if (x86_legacy(i, 0, 0x8b) && i->bytes[0] == FS) {
		c->g = x86_reg_field(i);
	} else if (compares(i, c)) {
		c->compared = true;
	} else {
		return (i->flow == TL_FLOW_JCC && i->cond == CC_BELOW) || tl_insn_is_nop(i) ||
		       (x86_legacy(i, 0, 0x8b) && i->flags & TL_INSN_RIP_REL) ||
		       (x86_legacy(i, 0, 0xc7) && !on_register(i, RSP) && x86_modrm(i) >> 6 == 3);
	}
	return true;
}

static void look_for_check(struct check *c, struct tl_stack_use *use, const struct tl_insn *i,
	uint32_t at, size_t size)
{
	int64_t cold = (int64_t)at + i->len + i->rel;

	if (!c->compared) {
		c->over = !prepares(c, i);
		return;
	}
	c->over = true;
	if (i->flow != TL_FLOW_JCC || i->cond != CC_BELOW_EQUAL || cold <= at ||
		cold >= (int64_t)size || c->spare < 0 || c->spare >= TL_STACK_UNKNOWN)
		return;
	use->checked = at + i->len;
	use->spare = (uint32_t)c->spare;
	use->cold = (uint32_t)cold;
}

bool tl_arch_is_return(const struct tl_code *code, uintptr_t addr)
{
	struct tl_insn i;

	return x86_decode_at(code, addr, &i) && i.flow == TL_FLOW_RET;
}

/* --- all of it ------------------------------------------------------------------------------ */

void tl_arch_stack_use(const uint8_t *text, size_t size, uintptr_t addr, struct tl_stack_use *use,
	void (*fn)(void *arg, uint32_t at, uintptr_t target, bool call), void *arg)
{
	struct check check = {.reg = RSP, .g = NO_REG};
	struct tl_insn i;

	*use = (struct tl_stack_use){.depth = 0};
	for (size_t at = 0; at < size; at += i.len) {
		uintptr_t to;
		bool call;

		if (!x86_decode(&i, text + at, TL_INSN_MAX)) {
			use->depth = TL_STACK_UNKNOWN;
			return;
		}
		if (!check.over)
			look_for_check(&check, use, &i, (uint32_t)at, size);
		use->depth += takes(&i);
		if (use->depth > TL_STACK_UNKNOWN)
			use->depth = TL_STACK_UNKNOWN;
		call = i.flow == TL_FLOW_CALL || i.flow == TL_FLOW_CALL_IND;
		if (i.flow == TL_FLOW_CALL_IND || i.flow == TL_FLOW_JMP_IND)
			fn(arg, (uint32_t)at, 0, call);
		if (!tl_insn_is_direct_branch(&i))
			continue;
		to = (uintptr_t)tl_insn_target(&i, addr + at);
		if (call || to - addr >= size)
			fn(arg, (uint32_t)at, to, call);
	}
}
