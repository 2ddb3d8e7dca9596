/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/* The ways out of a function. */
#include "x86.h"

static bool in_parts(const struct tl_func_part *parts, size_t nparts, uintptr_t addr)
{
	for (size_t n = 0; n < nparts; n++)
		if (addr - parts[n].start < parts[n].size)
			return true;
	return false;
}

static uint8_t modrm(const struct tl_insn *i)
{
	return i->modrm_off ? i->bytes[i->modrm_off] : 0;
}

/* movslq (base,index,4),reg: reads a table of offsets. */
static bool reads_offsets(const struct tl_insn *i)
{
	return i->map == 0 && i->opcode == 0x63 && (modrm(i) & 7) == 4 && modrm(i) >> 6 != 3 &&
	       i->bytes[i->modrm_off + 1] >> 6 == 2;
}

/* add reg,reg in either encoding. */
static bool adds_registers(const struct tl_insn *i)
{
	return i->map == 0 && (i->opcode == 0x01 || i->opcode == 0x03) && modrm(i) >> 6 == 3;
}

/*
 * Compilers' switch statements: `movslq (table,index,4),r; add table,r;
 * jmp *r` in position independent code, `jmp *table(,index,8)` else. Both lead
 * into the function itself.
 */
static bool is_switch(const struct tl_insn *i, const struct tl_insn *before)
{
	uint8_t m = modrm(i);

	if (i->flow != TL_FLOW_JMP_IND)
		return false;
	if (m >> 6 == 3)
		return adds_registers(&before[0]) &&
		       (reads_offsets(&before[1]) || reads_offsets(&before[2]));
	return m == 0x24 && i->bytes[i->modrm_off + 1] >> 6 == 3 &&
	       (i->bytes[i->modrm_off + 1] & 7) == 5;
}

/* --- jumps to computed places --------------------------------------------- */

enum { NO_REG = 0xff };

/* Where tl_arch_exit_target() finds a register; all but the last four are in every frame. */
static const uint8_t reg_at[16] = {
	[RAX] = offsetof(struct tl_regs, ax),
	[RCX] = offsetof(struct tl_regs, cx),
	[RDX] = offsetof(struct tl_regs, dx),
	[RBX] = offsetof(struct tl_regs, bx),
	[RSP] = offsetof(struct tl_regs, sp),
	[RBP] = offsetof(struct tl_regs, bp),
	[RSI] = offsetof(struct tl_regs, si),
	[RDI] = offsetof(struct tl_regs, di),
	[R8] = offsetof(struct tl_regs, r8),
	[R9] = offsetof(struct tl_regs, r9),
	[R10] = offsetof(struct tl_regs, r10),
	[R11] = offsetof(struct tl_regs, r11),
	[R12] = offsetof(struct tl_regs, r12),
	[R13] = offsetof(struct tl_regs, r13),
	[R14] = offsetof(struct tl_regs, r14),
	[R15] = offsetof(struct tl_regs, r15),
};

/* Not in every frame. */
static bool is_far(uint8_t number)
{
	return number != NO_REG && number >= R12;
}

void tl_arch_exit_by(struct tl_exit *e, unsigned number)
{
	e->port[0] = (uint8_t)number;
	e->port[1] = NO_REG;
	e->port[2] = 0;
	e->all_regs = is_far(e->port[0]);
}

/* port[]: base, index, scale; a scale of 0: the base register itself is the address. */
static bool fill_memory(const struct tl_insn *i, struct tl_exit *e)
{
	uint8_t sib = i->bytes[i->modrm_off + 1];
	bool has_sib = (modrm(i) & 7) == 4;

	e->disp = (intptr_t)i->disp;
	e->port[0] = (uint8_t)((has_sib ? sib & 7 : modrm(i) & 7) | (i->rex & 1) << 3);
	e->port[1] = NO_REG;
	e->port[2] = 1;
	if (has_sib) {
		uint8_t index = (uint8_t)((sib >> 3 & 7) | (i->rex & 2) << 2);

		if (index != RSP)
			e->port[1] = index;
		e->port[2] = (uint8_t)(1 << (sib >> 6));
		if ((sib & 7) == 5 && modrm(i) >> 6 == 0)
			e->port[0] = NO_REG;
	}
	return true;
}

/* False: of a form that nobody uses (segments, short addresses, jmpabs). */
static bool fill_computed(const struct tl_insn *i, struct tl_exit *e)
{
	if (i->map != 0 || i->opcode != 0xff || i->addr_size != 8 || (i->flags & TL_INSN_REX2))
		return false;
	for (unsigned n = 0; n < i->prefix_len; n++)
		if (i->bytes[n] == 0x64 || i->bytes[n] == 0x65)
			return false;
	if (modrm(i) >> 6 == 3) {
		tl_arch_exit_by(e, (modrm(i) & 7) | (i->rex & 1) << 3);
	} else {
		fill_memory(i, e);
		e->all_regs = is_far(e->port[0]) || is_far(e->port[1]);
	}
	return true;
}

static uintptr_t reg(const struct tl_regs *regs, uint8_t number)
{
	uint64_t v;

	if (number == NO_REG)
		return 0;
	__builtin_memcpy(&v, (const uint8_t *)regs + reg_at[number], sizeof(v));
	return v;
}

uintptr_t tl_arch_exit_target(const struct tl_exit *e, const struct tl_regs *regs)
{
	uintptr_t at = reg(regs, e->port[0]);

	if (!e->port[2])
		return at;
	at += reg(regs, e->port[1]) * e->port[2] + (uintptr_t)e->disp;
	return *(const uintptr_t *)at;
}

/* --- procedure linkage tables ------------------------------------------------- */

/* The first instruction that is not endbr64. */
static bool first_insn(const uint8_t *text, size_t len, struct tl_insn *i, size_t *off)
{
	*off = 0;
	if (!tl_insn_decode(i, text, len, TL_INSN_64))
		return false;
	if (!(i->flags & TL_INSN_ENDBR))
		return true;
	*off = i->len;
	return tl_insn_decode(i, text + *off, len - *off, TL_INSN_64) != 0;
}

uintptr_t tl_arch_stub_slot(const uint8_t *text, size_t len, uintptr_t addr)
{
	struct tl_insn i;
	size_t off;

	if (!first_insn(text, len, &i, &off) || !x86_is_got_jump(&i))
		return 0;
	return (uintptr_t)tl_insn_rip_operand(&i, addr + off);
}

/* push $n; jmp to the table's first entry */
int64_t tl_arch_stub_unbound(const uint8_t *text, size_t len)
{
	struct tl_insn i;
	size_t off;
	int64_t number = 0;

	if (!first_insn(text, len, &i, &off) || i.map != 0 || i.opcode != 0x68)
		return -1;
	for (unsigned n = 0; n < i.imm_size; n++)
		number |= (int64_t)i.bytes[i.imm_off + n] << (8 * n);
	off += i.len;
	if (!tl_insn_decode(&i, text + off, len - off, TL_INSN_64) || i.flow != TL_FLOW_JMP)
		return -1;
	return number;
}

/* --- the exits ---------------------------------------------------------------- */

/* Where the function begins, and all of its parts. */
struct bounds {
	const struct tl_func_part *parts;
	size_t nparts;
	uintptr_t entry;
};

static int leaves_direct(const struct tl_insn *i, const struct bounds *b, struct tl_exit *e)
{
	uintptr_t target = (uintptr_t)tl_insn_target(i, e->addr);

	if (in_parts(b->parts, b->nparts, target) &&
		(target != b->entry || (i->flags & TL_INSN_LOOP)))
		return 0;
	if (i->flags & TL_INSN_LOOP)
		return -TL_E_NO_EXIT;
	e->kind = i->flow == TL_FLOW_JMP ? TL_EXIT_TAIL : TL_EXIT_TAIL_COND;
	e->target = target;
	e->cond = i->cond;
	return 1;
}

static int leaves_indirect(const struct tl_insn *i, const struct tl_insn *before, struct tl_exit *e)
{
	if (x86_is_got_jump(i)) {
		e->kind = TL_EXIT_TAIL;
		e->slot = (uintptr_t)tl_insn_rip_operand(i, e->addr);
		return 1;
	}
	if (is_switch(i, before))
		return 0;
	e->kind = TL_EXIT_COMPUTED;
	return fill_computed(i, e) ? 1 : -TL_E_NO_EXIT;
}

/* `jmp *(table,opcode,8)` in one of many functions (assembler), `goto *label` in one. *names: not asked yet if < 0. */
static bool may_be_hot(const struct tl_code *code, const struct tl_exit *e, int *names)
{
	if (!code->indirect || e->port[1] != NO_REG)
		return code->indirect;
	if (*names < 0)
		*names = x86_names_middle(code);
	return *names;
}

/* 1: leaves, or may; e says how. 0: stays. Or -TL_E_NO_EXIT. */
static int leaves(const struct tl_insn *i, const struct tl_insn *before, const struct bounds *b,
	struct tl_exit *e)
{
	switch (i->flow) {
	case TL_FLOW_RET:
		e->kind = TL_EXIT_RETURN;
		return 1;
	case TL_FLOW_JMP:
	case TL_FLOW_JCC:
		return leaves_direct(i, b, e);
	case TL_FLOW_JMP_IND:
		return leaves_indirect(i, before, e);
	case TL_FLOW_FAR:
		return -TL_E_NO_EXIT;
	default:
		return 0;
	}
}

/*
 * Assembler lets functions run into the next one (strcasecmp into strcasecmp_l,
 * __memcpy_chk behind a check). Behind a call, and the padding there, nothing
 * runs: it does not return.
 */
static bool falls(const struct tl_insn *i, bool before)
{
	if (i->flow == TL_FLOW_TRAP)
		return false;
	return tl_insn_is_padding(i) ? before : i->flow == TL_FLOW_NEXT || i->flow == TL_FLOW_JCC;
}

/* Where control goes behind the part's last instruction: on to what stands behind the padding. 0: it stays, or nowhere. */
static uintptr_t runs_into(const struct tl_code *code, const struct bounds *b)
{
	uintptr_t to = code->start + code->size;

	if (code->after && code->text[code->size] == 0xcc)
		return 0;
	to += code->after;
	return in_parts(b->parts, b->nparts, to) ? 0 : to;
}

static bool has_condition(const struct tl_insn *i)
{
	return (i->map == 0 && i->opcode >> 4 == 7) || (i->map == 1 && i->opcode >> 4 == 8);
}

/* The way out behind the last instruction, under the contrary of its condition if it has one. 1, 0: none, -TL_E_NO_EXIT. */
static int falls_to(const struct tl_code *code, const struct bounds *b, const struct tl_insn *i,
	struct tl_exit *e)
{
	e->addr = code->start + code->size - i->len;
	e->target = runs_into(code, b);
	e->kind = TL_EXIT_TAIL;
	if (!e->target || i->flow != TL_FLOW_JCC)
		return e->target != 0;
	e->kind = TL_EXIT_TAIL_COND;
	e->cond = i->cond ^ 1;
	return has_condition(i) ? 1 : -TL_E_NO_EXIT;
}

int tl_arch_exits(const struct tl_code *code, const struct tl_func_part *parts, size_t nparts,
	uintptr_t entry, struct tl_exit *exits, size_t max)
{
	const struct bounds bounds = {parts, nparts, entry};
	struct tl_insn i = {0}, before[3] = {{0}};
	uintptr_t end = code->start + code->size;
	bool falls_out = false;
	size_t found = 0;
	int names = -1;
	struct tl_exit last = {0};
	uintptr_t addr;
	int ret;

	if (max)
		exits[0].addr = 0;
	if (!code->complete)
		return -TL_E_NO_EXIT;
	for (addr = code->start; addr < end; addr += i.len) {
		struct tl_exit e = {.addr = addr};

		if (!x86_decode_at(code, addr, &i))
			return -TL_E_BAD_INSN;
		ret = leaves(&i, before, &bounds, &e);
		if (e.kind == TL_EXIT_COMPUTED && ret > 0)
			e.hot = may_be_hot(code, &e, &names);
		falls_out = falls(&i, falls_out);
		if (ret == -TL_E_NO_EXIT && max)
			exits[0].addr = addr;
		if (ret < 0)
			return ret;
		if (ret && found < max)
			exits[found] = e;
		found += (size_t)ret;
		before[2] = before[1];
		before[1] = before[0];
		before[0] = i;
	}
	ret = falls_out && addr == end ? falls_to(code, &bounds, &i, &last) : 0;
	if (ret < 0 && max)
		exits[0].addr = last.addr;
	if (ret < 0)
		return ret;
	if (ret && found < max)
		exits[found] = last;
	return (int)found + ret;
}

bool tl_arch_cond_holds(uint8_t cond, const struct tl_regs *regs)
{
	enum { CF = 1, PF = 1 << 2, ZF = 1 << 6, SF = 1 << 7, OF = 1 << 11 };
	uint64_t f = regs->flags;
	bool less = !(f & SF) != !(f & OF);
	bool holds;

	switch (cond >> 1) {
	case 0:
		holds = f & OF;
		break;
	case 1:
		holds = f & CF;
		break;
	case 2:
		holds = f & ZF;
		break;
	case 3:
		holds = f & (CF | ZF);
		break;
	case 4:
		holds = f & SF;
		break;
	case 5:
		holds = f & PF;
		break;
	case 6:
		holds = less;
		break;
	default:
		holds = less || (f & ZF);
	}
	return holds != (cond & 1);
}

/* The return address is where the stack pointer was. */
bool tl_arch_call_stands(uintptr_t sp, uintptr_t ret_ip)
{
	return *(const uintptr_t *)sp == ret_ip;
}
