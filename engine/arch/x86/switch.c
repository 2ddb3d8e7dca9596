/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/*
 * Jump tables of switch statements, as compilers make them:
 *
 *	cmp $n,i; ja default; lea table(%rip),t; movslq (t,i,4),x; add t,x; jmp *x
 *	cmp $n,i; ja default; jmp *table(,i,8)
 *
 * The bound gives the least number of entries. Which lea belongs to which
 * jump is not asked: every lea of the part whose data would do as a table of
 * that size is read as one, and reading goes on as long as entries lead to
 * instructions of the part. Targets too many cost some windows; one too few
 * would be a crash. Whatever does not fit the pattern stays unknown.
 */
#include "x86.h"

#define LOOK_BACK   24 /* instructions */
#define ENTRIES_MAX 4096
#define NEAR_TEXT   (64ul << 20) /* where a part in another section may lie */
#define NO_REG	    0xff

struct table {
	uintptr_t base;
	unsigned least;
	bool absolute;
};

struct jump {
	uintptr_t addr;
	uint8_t index; /* register */
	unsigned least;
	bool absolute;
	uintptr_t base; /* absolute only */
};

/* Scaled memory operand: its index register. */
static uint8_t scaled_index(const struct tl_insn *i, unsigned scale)
{
	uint8_t sib;

	if (!i->modrm_off || x86_modrm(i) >> 6 == 3 || (x86_modrm(i) & 7) != 4)
		return NO_REG;
	sib = i->bytes[i->modrm_off + 1];
	if (sib >> 6 != scale)
		return NO_REG;
	return (uint8_t)((sib >> 3 & 7) | (i->rex & 2) << 2);
}

static uintptr_t before(const struct tl_code *code, uintptr_t addr)
{
	while (addr > code->start)
		if (x86_is_boundary(code, --addr))
			return addr;
	return 0;
}

/* The instructions in front of addr, nearest first; returns their number. */
static unsigned look_back(const struct tl_code *code, uintptr_t addr, struct tl_insn *insns)
{
	unsigned n = 0;

	while (n < LOOK_BACK && (addr = before(code, addr)) && x86_decode_at(code, addr, &insns[n]))
		n++;
	return n;
}

/* movslq (t,i,4),x; add t,x in front of jmp *x: the index, and how far back the load stands. */
static uint8_t loads_offset(
	const struct tl_insn *jmp, const struct tl_insn *insns, unsigned n, unsigned *at)
{
	uint8_t x = x86_rm_field(jmp);

	if (n < 2 || !(x86_legacy(&insns[0], 0, 0x01) || x86_legacy(&insns[0], 0, 0x03)) ||
		x86_modrm(&insns[0]) >> 6 != 3)
		return NO_REG;
	if ((insns[0].opcode == 0x01 ? x86_rm_field(&insns[0]) : x86_reg_field(&insns[0])) != x)
		return NO_REG;
	for (*at = 1; *at < n && *at < 4; ++*at)
		if (x86_legacy(&insns[*at], 0, 0x63) && scaled_index(&insns[*at], 2) != NO_REG)
			return scaled_index(&insns[*at], 2);
	return NO_REG;
}

/* cmp $imm with something: the register, or NO_REG with *mem for memory. */
static bool compares(const struct tl_insn *i, uint8_t *reg, bool *mem, uint32_t *imm)
{
	bool group = x86_legacy(i, 0, 0x80) || x86_legacy(i, 0, 0x81) || x86_legacy(i, 0, 0x83);

	if (group && (x86_modrm(i) >> 3 & 7) != 7)
		return false;
	if (!group && !x86_legacy(i, 0, 0x3c) && !x86_legacy(i, 0, 0x3d))
		return false;
	*mem = group && x86_modrm(i) >> 6 != 3;
	*reg = *mem ? NO_REG : group ? x86_rm_field(i) : RAX;
	*imm = 0;
	for (unsigned n = 0; n < i->imm_size && n < 4; n++)
		*imm |= (uint32_t)i->bytes[i->imm_off + n] << (8 * n);
	return true;
}

/* mov or movzx into `reg`: where from (NO_REG: memory). */
static bool moves_into(const struct tl_insn *i, uint8_t reg, uint8_t *from)
{
	bool load = x86_legacy(i, 0, 0x8b) || x86_legacy(i, 1, 0xb6) || x86_legacy(i, 1, 0xb7);

	if (load ? x86_reg_field(i) != reg
		 : !(x86_legacy(i, 0, 0x89) && x86_modrm(i) >> 6 == 3 && x86_rm_field(i) == reg))
		return false;
	*from = !load ? x86_reg_field(i) : x86_modrm(i) >> 6 == 3 ? x86_rm_field(i) : NO_REG;
	return true;
}

/* The bounds check of the index: number of entries, or 0. */
static unsigned bound(uint8_t index, const struct tl_insn *insns, unsigned from, unsigned n)
{
	uint8_t reg, source;
	bool mem;
	uint32_t imm;

	for (unsigned k = from; k + 1 < n; k++) {
		if (moves_into(&insns[k], index, &source))
			index = source;
		/* in program order: insns[k + 1], insns[k] */
		if (insns[k].flow != TL_FLOW_JCC || !compares(&insns[k + 1], &reg, &mem, &imm))
			continue;
		if (mem ? index != NO_REG : reg != index)
			continue;
		if (imm >= ENTRIES_MAX || insns[k].cond < 2 || insns[k].cond > 7 ||
			(insns[k].cond & 6) == 4)
			return 0;
		return insns[k].cond >= 6
			       ? imm + 1
			       : imm; /* ja, jbe: imm is the last one; jae, jb: the first beyond */
	}
	return 0;
}

static bool is_table_jump(
	const struct tl_code *code, const struct tl_insn *jmp, uintptr_t addr, struct jump *j)
{
	struct tl_insn insns[LOOK_BACK];
	unsigned n = look_back(code, addr, insns), at = 0;

	*j = (struct jump){.addr = addr};
	if (x86_modrm(jmp) >> 6 == 3) {
		j->index = loads_offset(jmp, insns, n, &at);
		at++;
	} else if (x86_modrm(jmp) == 0x24 && (jmp->bytes[jmp->modrm_off + 1] & 7) == 5) {
		j->index = scaled_index(jmp, 3);
		j->absolute = true;
		j->base = (uintptr_t)jmp->disp;
	} else {
		return false;
	}
	j->least = j->index == NO_REG ? 0 : bound(j->index, insns, at, n);
	return j->least != 0;
}

static bool entry(const struct tl_code *code, const struct table *t, unsigned n, uintptr_t *target)
{
	unsigned size = t->absolute ? 8 : 4;
	uint64_t v = 0;
	uint8_t b[8];

	if (code->read(t->base + (uintptr_t)n * size, b, size) != size)
		return false;
	for (unsigned k = 0; k < size; k++)
		v |= (uint64_t)b[k] << (8 * k);
	*target = t->absolute ? (uintptr_t)v : t->base + (uintptr_t)(intptr_t)(int32_t)(uint32_t)v;
	return true;
}

static bool in_part(const struct tl_code *code, uintptr_t target)
{
	return target - code->start < code->size;
}

static bool plausible(const struct tl_code *code, uintptr_t target)
{
	if (in_part(code, target))
		return x86_is_boundary(code, target);
	return target - (code->start - NEAR_TEXT) < 2 * NEAR_TEXT + code->size;
}

/* Could this be the table, by what its entries say? */
static bool fits(const struct tl_code *code, const struct table *t)
{
	unsigned inside = 0;
	uintptr_t target;

	for (unsigned n = 0; n < t->least; n++) {
		if (!entry(code, t, n, &target) || !plausible(code, target))
			return false;
		inside += in_part(code, target);
	}
	return inside > 0;
}

static void visit(const struct tl_code *code, const struct table *t,
	void (*fn)(void *arg, uintptr_t target), void *arg)
{
	uintptr_t target;

	for (unsigned n = 0; n < ENTRIES_MAX && entry(code, t, n, &target); n++) {
		if (n >= t->least && !(in_part(code, target) && x86_is_boundary(code, target)))
			return;
		fn(arg, target);
	}
}

/* Every lea of the part that leads to data which would do. */
static bool visit_leas(const struct tl_code *code, unsigned least,
	void (*fn)(void *arg, uintptr_t target), void *arg)
{
	bool any = false;
	struct tl_insn i;

	for (uintptr_t a = code->start; a < code->start + code->size; a += i.len) {
		struct table t = {.least = least};

		if (!x86_decode_at(code, a, &i))
			return false;
		if (!x86_legacy(&i, 0, 0x8d) || !(i.flags & TL_INSN_RIP_REL))
			continue;
		t.base = (uintptr_t)tl_insn_rip_operand(&i, a);
		if (in_part(code, t.base) || !fits(code, &t))
			continue;
		visit(code, &t, fn, arg);
		any = true;
	}
	return any;
}

bool x86_switch_targets(const struct tl_code *code, const struct tl_insn *jmp, uintptr_t addr,
	void (*fn)(void *arg, uintptr_t target), void *arg)
{
	struct table t;
	struct jump j;

	if (!code->read || !is_table_jump(code, jmp, addr, &j))
		return false;
	if (!j.absolute)
		return visit_leas(code, j.least, fn, arg);
	t = (struct table){.base = j.base, .least = j.least, .absolute = true};
	if (!fits(code, &t))
		return false;
	visit(code, &t, fn, arg);
	return true;
}
