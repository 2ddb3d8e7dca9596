/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/*
 * Find the fields of one instruction: prefixes, opcode, row, ModRM, immediate.
 *
 * The tables say which opcodes exist and what follows them; this file knows
 * only how prefixes are laid out. Every step returns false on bytes that no
 * processor executes or that are cut short.
 */
#include "row.h"
#include "tables.h"

enum { SPACE_LEGACY, SPACE_VEX, SPACE_EVEX, SPACE_REX2 };

struct decoder {
	const uint8_t *p;
	unsigned n, max; /* next byte, and how many there are (at most 15) */
	unsigned pp, rep, rex, vvvv, l, aaa, modrm, sib;
	unsigned egpr; /* R4 X4 B4 as 4 2 1, V' as 8 */
	uint8_t space, map, head; /* `head`: which of heads[] */
	bool m64, o66, a67, lock, notrack, nv, b, z, nd;
};

/* What a byte is, standing where a prefix or opcode may stand. */
enum {
	BYTE_OPCODE,
	BYTE_SEG,
	BYTE_DS,
	BYTE_O66,
	BYTE_A67,
	BYTE_LOCK,
	BYTE_REP,
	BYTE_REX, /* 64-bit mode only */
	BYTE_ESCAPE,
};

#define SEG  BYTE_SEG
#define REX8 BYTE_REX, BYTE_REX, BYTE_REX, BYTE_REX, BYTE_REX, BYTE_REX, BYTE_REX, BYTE_REX
static const uint8_t byte_class[256] = {
	[0x0f] = BYTE_ESCAPE,
	[0x26] = SEG,
	[0x2e] = SEG,
	[0x36] = SEG,
	[0x3e] = BYTE_DS,
	[0x40] = REX8,
	REX8,
	[0x62] = BYTE_ESCAPE,
	[0x64] = SEG,
	[0x65] = SEG,
	[0x66] = BYTE_O66,
	[0x67] = BYTE_A67,
	[0x8f] = BYTE_ESCAPE,
	[0xc4] = BYTE_ESCAPE,
	[0xc5] = BYTE_ESCAPE,
	[0xd5] = BYTE_ESCAPE,
	[0xf0] = BYTE_LOCK,
	[0xf2] = BYTE_REP,
	[0xf3] = BYTE_REP,
};

static bool more(const struct decoder *d, unsigned count)
{
	return d->n + count <= d->max;
}

static void note_prefix(struct decoder *d, unsigned class, uint8_t byte)
{
	switch (class) {
	case BYTE_SEG:
		d->notrack = false;
		break;
	case BYTE_DS:
		d->notrack = true;
		break;
	case BYTE_O66:
		d->o66 = true;
		break;
	case BYTE_A67:
		d->a67 = true;
		break;
	case BYTE_LOCK:
		d->lock = true;
		break;
	default:
		d->rep = byte;
		break;
	}
}

/* Stop at the opcode or escape byte. A REX that is not the last prefix is void. */
static bool read_prefixes(struct decoder *d)
{
	for (; d->n < d->max; d->n++) {
		uint8_t byte = d->p[d->n];
		unsigned class = byte_class[byte];

		if (class == BYTE_OPCODE || class == BYTE_ESCAPE)
			return true;
		if (class == BYTE_REX) {
			if (!d->m64)
				return true;
			d->rex = byte;
			continue;
		}
		d->rex = 0;
		note_prefix(d, class, byte);
	}
	return false;
}

static void set_legacy_pp(struct decoder *d)
{
	if (d->rep)
		d->pp = d->rep == 0xf3 ? 2 : 3;
	else
		d->pp = d->o66;
}

static bool read_legacy_map(struct decoder *d)
{
	d->map = 0;
	if (d->p[d->n] == 0x0f) {
		if (!more(d, 2))
			return false;
		d->map = 1;
		d->n++;
		if (d->p[d->n] == 0x38 || d->p[d->n] == 0x3a) {
			if (!more(d, 2))
				return false;
			d->map = d->p[d->n] == 0x38 ? 2 : 3;
			d->n++;
		}
	}
	d->head = legacy_heads[d->map];
	return true;
}

/* VEX, XOP, EVEX: none of these may stand in front (Intel SDM 2, 2.3.2 to 2.3.4, 2.7). */
static bool bare(const struct decoder *d)
{
	return !d->rex && !d->rep && !d->o66 && !d->lock;
}

/* R X B inverted in the top three bits, W v v v v L p p: three-byte VEX, XOP. */
static void vex_fields(struct decoder *d, unsigned rxb, unsigned wvlp)
{
	d->rex = 0x40 | (wvlp >> 7) << 3 | ((~rxb >> 5) & 7);
	if (!d->m64) /* no registers above 7 */
		d->rex &= 0x48;
	d->nv = (~wvlp >> 3 & 15) != 0;
	d->vvvv = (~wvlp >> 3) & (d->m64 ? 15 : 7);
	d->l = (wvlp >> 2) & 1;
	d->pp = wvlp & 3;
	d->space = SPACE_VEX;
}

static bool read_vex2(struct decoder *d)
{
	if (!more(d, 3))
		return false;
	/* the byte's top bit is R, the rest is as in the long form with W = 0 */
	vex_fields(d, d->p[d->n + 1] | 0x60, d->p[d->n + 1] & 0x7f);
	d->map = 1;
	d->head = vex_heads[1];
	d->n += 2;
	return true;
}

static bool read_vex3(struct decoder *d, const uint8_t *heads_of)
{
	if (!more(d, 4))
		return false;
	d->map = d->p[d->n + 1] & 31;
	d->head = heads_of[d->map];
	vex_fields(d, d->p[d->n + 1], d->p[d->n + 2]);
	d->n += 3;
	return d->head != 0;
}

/*
 * 62 | R X B R' B4 m m m | W v v v v X4 p p | z L' L b V' a a a
 * B4 and X4 are APX; where APX is not meant they are 0 and 1.
 */
static bool read_evex(struct decoder *d)
{
	unsigned p0, p1, p2;

	if (!more(d, 5))
		return false;
	p0 = d->p[d->n + 1];
	p1 = d->p[d->n + 2];
	p2 = d->p[d->n + 3];
	d->map = p0 & 7;
	d->head = evex_heads[d->map];
	vex_fields(d, p0, p1);
	d->space = SPACE_EVEX;
	d->l = (p2 >> 5) & 3;
	d->egpr = (~p0 >> 2 & 4) | (~p1 >> 1 & 2) | (p0 >> 3 & 1) | (~p2 & 8);
	d->b = p2 >> 4 & 1;
	d->nd = d->b;
	d->z = p2 >> 7;
	d->aaa = p2 & 7;
	d->n += 4;
	if (!d->m64) {
		if ((p0 & 8) || !(p1 & 4) || !(p2 & 8))
			return false;
		d->egpr = 0;
	}
	if (d->map == 4)
		d->o66 = d->pp == 1;
	return d->head != 0;
}

/* d5 | M0 R4 X4 B4 W R X B */
static bool read_rex2(struct decoder *d)
{
	unsigned byte;

	if (!more(d, 3) || d->rex)
		return false;
	byte = d->p[d->n + 1];
	d->rex = 0x40 | (byte & 15);
	d->egpr = byte >> 4 & 7;
	d->map = byte >> 7;
	d->head = legacy_heads[d->map];
	d->space = SPACE_REX2;
	set_legacy_pp(d);
	d->n += 2;
	return true;
}

/* In 32-bit mode 62 c4 c5 are BOUND LES LDS unless a register form follows. */
static bool escapes(const struct decoder *d)
{
	return d->m64 || (more(d, 2) && d->p[d->n + 1] >= 0xc0);
}

static bool read_opcode_space(struct decoder *d)
{
	uint8_t byte = d->p[d->n];

	if (byte_class[byte] != BYTE_ESCAPE) {
		set_legacy_pp(d);
		d->head = legacy_heads[0];
		return true;
	}
	switch (byte) {
	case 0x62:
		if (escapes(d))
			return bare(d) && read_evex(d);
		break;
	case 0xc4:
		if (escapes(d))
			return bare(d) && read_vex3(d, vex_heads);
		break;
	case 0xc5:
		if (escapes(d))
			return bare(d) && read_vex2(d);
		break;
	case 0x8f:
		if (more(d, 2) && (d->p[d->n + 1] & 31) >= 8)
			return bare(d) && read_vex3(d, xop_heads);
		break;
	case 0xd5:
		if (d->m64)
			return read_rex2(d);
		break;
	}
	set_legacy_pp(d);
	return read_legacy_map(d);
}

static uint32_t make_key(const struct decoder *d)
{
	uint32_t key = d->pp << KEY_PP | (uint32_t)d->m64 << KEY_M64 | (uint32_t)d->o66 << KEY_O66;

	key |= (d->rex >> 3 & 1) << KEY_W | (uint32_t)d->a67 << KEY_A67;
	key |= (uint32_t)(d->modrm >> 6 == 3) << KEY_MOD3;
	key |= (d->modrm >> 3 & 7) << KEY_REG | (d->modrm & 7) << KEY_RM;
	if (d->space == SPACE_LEGACY)
		return key;
	key |= (uint32_t)d->nv << KEY_NV | (uint32_t)(d->egpr >> 3) << KEY_V2;
	/* rounding control stands where the length does, and means 512 bits */
	key |= (d->b && d->modrm >> 6 == 3 ? 2u : d->l) << KEY_L;
	return key | (uint32_t)d->nd << KEY_ND;
}

static const struct row *find_row(const struct decoder *d, const struct head *head)
{
	const struct row *row = &tl_insn_rows[head->first];
	const struct row *end = row + head->n;
	uint32_t key;

	if (head->n == 1 && !row->mask)
		return row;
	key = make_key(d);
	for (; row < end; row++)
		if ((key & row->mask) == row->value)
			return row;
	return NULL;
}

/* APX: no masks; NF stands at the mask's top bit, conditions at V' and mask. */
static bool map4_allows(const struct decoder *d, uint32_t props)
{
	if (!d->m64 || d->z || d->l)
		return false;
	return props & ROW_SCC || !(d->aaa & 3 || (d->aaa && !(props & ROW_NF)));
}

/* The rules of EVEX that opcodes share: masking, broadcast, rounding, length. */
static bool evex_allows(const struct decoder *d, const struct row *row)
{
	uint32_t props = row->props;
	bool memory = d->modrm >> 6 != 3;

	if (d->egpr & 2 && !memory) /* X4 extends an index only */
		return false;
	if (props & ROW_MAP4)
		return map4_allows(d, props);
	if (d->aaa ? !(props & ROW_MASK) : (props & ROW_MUSTMASK) != 0)
		return false;
	if (d->z && (!(props & ROW_ZERO) || !d->aaa || (memory && (props & ROW_RM_W))))
		return false;
	if (d->b && !memory)
		return (props & (ROW_ER | ROW_SAE)) != 0;
	return d->l != 3 && (!d->b || (props & ROW_BC));
}

static unsigned reg_number(const struct decoder *d)
{
	return (d->modrm >> 3 & 7) | (d->rex & 4) << 1 | (d->egpr & 4) << 2;
}

static unsigned rm_number(const struct decoder *d)
{
	return (d->modrm & 7) | (d->rex & 1) << 3 | (d->egpr & 1) << 4;
}

static bool register_exists(const struct decoder *d, const struct row *row)
{
	unsigned reg = reg_number(d);

	switch (row->reg) {
	case KIND_K:
	case KIND_TILE:
		if (reg > 7)
			return false;
		break;
	case KIND_SEG:
		if ((reg & 7) > 5 || ((row->props & ROW_REG_W) && (reg & 7) == 1))
			return false;
		break;
	case KIND_CR:
		if (reg > 8 || !(0x11d >> reg & 1))
			return false;
		break;
	case KIND_DR:
		if (reg > 7)
			return false;
		break;
	case KIND_BND:
		if (reg > 3 && d->space != SPACE_REX2)
			return false;
		break;
	}
	if (row->rm == KIND_BND && d->modrm >> 6 == 3 && rm_number(d) > 3 &&
		d->space != SPACE_REX2) /* APX: a nop there */
		return false;
	if (row->rm == KIND_TILE && rm_number(d) > 7)
		return false;
	return !((row->v == KIND_K || row->v == KIND_TILE) && d->vvvv > 7);
}

/* Vector index: SIB is compulsory, so are 32-bit addresses; gathers want different registers. */
static bool operands_differ(const struct decoder *d, const struct row *row)
{
	unsigned reg = reg_number(d), v = d->vvvv | (d->egpr & 8) << 1;
	unsigned index;

	if (row->props & ROW_VSIB) {
		index = (d->sib >> 3 & 7) | (d->rex & 2) << 2;
		if (d->space == SPACE_EVEX)
			return reg != (index | (d->egpr & 8) << 1);
		return reg != index && reg != v && v != index;
	}
	if (row->v == KIND_GP) /* push2, pop2: never rsp, pop2 two of them */
		return v != 4 && rm_number(d) != 4 &&
		       (!(row->props & ROW_V_W) || v != rm_number(d));
	if (row->reg == KIND_TILE)
		return reg != rm_number(d) && reg != v && v != rm_number(d);
	return reg != v && (d->modrm >> 6 != 3 ||
				   reg != ((d->modrm & 7) | (d->rex & 1) << 3 | (d->rex & 2) << 3));
}

static bool row_allows(const struct decoder *d, const struct row *row)
{
	bool memory = d->modrm >> 6 != 3;
	uint32_t props = row->props;

	if (d->lock && !((props & ROW_LOCK) && memory))
		return false;
	if (d->space == SPACE_EVEX && !evex_allows(d, row))
		return false;
	if (d->space == SPACE_REX2 && (props & ROW_NOREX2))
		return false;
	if (row->reg > KIND_MMX || row->rm > KIND_MMX || row->v > KIND_MMX)
		return register_exists(d, row);
	return true;
}

static bool memory_allowed(const struct decoder *d, const struct row *row)
{
	uint32_t props = row->props;
	bool a16 = !d->m64 && d->a67;

	if ((props & (ROW_VSIB | ROW_SIB)) && (a16 || (d->modrm & 7) != 4))
		return false;
	if ((props & ROW_NO16) && a16)
		return false;
	return !((props & ROW_NORIP) && d->m64 && (d->modrm & 0xc7) == 5 && d->space != SPACE_REX2);
}

/* Size of the displacement; steps over ModRM and SIB. -1: cut short. */
static int memory_form(struct decoder *d)
{
	unsigned mod = d->modrm >> 6, rm = d->modrm & 7;

	if (mod == 3)
		return 0;
	if (!d->m64 && d->a67)
		return mod == 1 ? 1 : mod == 2 || rm == 6 ? 2 : 0;
	if (rm == 4) {
		if (!more(d, 1))
			return -1;
		d->sib = d->p[d->n++];
		rm = d->sib & 7;
	}
	return mod == 1 ? 1 : mod == 2 || rm == 5 ? 4 : 0;
}

static int64_t read_signed(const uint8_t *p, unsigned size)
{
	uint32_t low;

	switch (size) {
	case 1:
		return (int8_t)p[0];
	case 2:
		return (int16_t)(p[0] | p[1] << 8);
	case 4:
		low = p[0] | p[1] << 8 | p[2] << 16 | (uint32_t)p[3] << 24;
		return (int32_t)low;
	default:
		return 0;
	}
}

static bool read_memory(struct decoder *d, struct tl_insn *insn, const struct row *row)
{
	int size;

	insn->modrm_off = d->n++;
	if (row->props & ROW_ANYMOD)
		return true;
	if (d->modrm < 0xc0 && !memory_allowed(d, row))
		return false;
	size = memory_form(d);
	if (size < 0 || !more(d, size))
		return false;
	if (size) {
		insn->disp_off = d->n;
		insn->disp_size = size;
		insn->disp = read_signed(d->p + d->n, size);
		d->n += size;
		if (d->m64 && (d->modrm & 0xc7) == 5)
			insn->flags |= TL_INSN_RIP_REL | TL_INSN_USES_IP;
	}
	return !(row->props & ROW_DIST) || operands_differ(d, row);
}

/* Bytes of an immediate by its kind; the larger values depend on the instruction. */
enum { SIZE_Z = 16, SIZE_OPERAND, SIZE_ADDRESS, SIZE_NEAR };

static unsigned immediate_size(const struct decoder *d, const struct tl_insn *insn, unsigned kind)
{
	static const uint8_t sizes[] = {
		[IMM_B] = 1,
		[IMM_W] = 2,
		[IMM_D] = 4,
		[IMM_Q] = 8,
		[IMM_Z] = SIZE_Z,
		[IMM_V] = SIZE_OPERAND,
		[IMM_O] = SIZE_ADDRESS,
		[IMM_P] = SIZE_Z,
		[IMM_WB] = 2,
		[IMM_BB] = 1,
		[IMM_JB] = 1,
		[IMM_JZ] = SIZE_NEAR,
		[IMM_JX] = SIZE_Z,
	};
	unsigned z = insn->op_size == 2 ? 2 : 4;

	switch (sizes[kind]) {
	case SIZE_Z:
		return z;
	case SIZE_OPERAND:
		return insn->op_size;
	case SIZE_ADDRESS:
		return insn->addr_size;
	case SIZE_NEAR: /* 64-bit mode ignores 66 (Intel; AMD does not) */
		return d->m64 ? 4 : z;
	default:
		return sizes[kind];
	}
}

static bool read_immediate(struct decoder *d, struct tl_insn *insn, const struct row *row)
{
	static const uint8_t seconds[] = {
		[IMM_P] = 2,
		[IMM_WB] = 1,
		[IMM_BB] = 1,
		[IMM_JX] = 0,
	};
	unsigned size, second;

	if (row->imm == IMM_NONE)
		return true;
	size = immediate_size(d, insn, row->imm);
	second = seconds[row->imm];
	if (!more(d, size + second))
		return false;
	insn->imm_off = d->n;
	insn->imm_size = size;
	insn->imm2_size = second;
	if (row->imm >= IMM_JB)
		insn->rel = read_signed(d->p + d->n, size);
	d->n += size + second;
	return true;
}

/* 3DNow keeps its operation behind the operands. */
static bool read_3dnow(struct decoder *d, struct tl_insn *insn)
{
	static const uint8_t known[32] = {
		[0x0c / 8] = 0x30,
		[0x1c / 8] = 0x30,
		[0x88 / 8] = 0x44,
		[0x90 / 8] = 0xd1,
		[0x98 / 8] = 0x44,
		[0xa0 / 8] = 0xd1,
		[0xa8 / 8] = 0x44,
		[0xb0 / 8] = 0xd1,
		[0xb8 / 8] = 0x88,
	};
	uint8_t op;

	if (!more(d, 1))
		return false;
	op = d->p[d->n++];
	insn->opcode = op;
	return known[op / 8] >> (op & 7) & 1;
}

static unsigned operand_size(const struct decoder *d, const struct row *row)
{
	if (!d->m64)
		return d->o66 && d->space != SPACE_VEX ? 2 : 4;
	if (row->props & ROW_F64 || d->rex & 8)
		return 8;
	if (d->o66)
		return 2;
	return row->props & ROW_D64 ? 8 : 4;
}

static unsigned address_size(const struct decoder *d, const struct row *row)
{
	if (d->m64) /* MPX ignores 67 there (Intel SDM 2, BNDMK) */
		return d->a67 && row->reg != KIND_BND && row->rm != KIND_BND ? 4 : 8;
	return d->a67 ? 2 : 4;
}

/* Is general register `n` the stack pointer? As a byte register (`byte`) only with REX. */
static bool names_sp(const struct decoder *d, unsigned n, uint32_t byte)
{
	return n == 4 && (!byte || d->rex);
}

/* Explicit uses of the stack pointer as an operand. */
static unsigned sp_flags(const struct decoder *d, const struct row *row)
{
	uint32_t props = row->props;
	bool read = false, written = false, found;

	if (props & ROW_Z) {
		found = !(d->egpr & 1) &&
			names_sp(d, (d->p[d->n] & 7) | (d->rex & 1) << 3, props & ROW_RM_BYTE);
		read |= found;
		written |= found && (props & ROW_Z_W);
	}
	if (row->reg == KIND_GP && names_sp(d, reg_number(d), props & ROW_REG_BYTE)) {
		read = true;
		written |= (props & ROW_REG_W) != 0;
	}
	if (row->v == KIND_GP && d->vvvv == 4 && !(d->egpr & 8)) {
		read = true;
		written |= (props & ROW_V_W) != 0;
	}
	if (row->rm == KIND_GP && (d->modrm >= 0xc0 || props & ROW_ANYMOD) &&
		names_sp(d, rm_number(d), props & ROW_RM_BYTE)) {
		read = true;
		written |= (props & ROW_RM_W) != 0;
	}
	return (read ? TL_INSN_USES_SP : 0) | (written ? TL_INSN_SETS_SP : 0);
}

/* A base of rsp exists only in a SIB byte (16-bit addresses cannot name it). */
static bool based_on_sp(const struct decoder *d)
{
	return (d->modrm & 7) == 4 && d->modrm < 0xc0 && (d->m64 || !d->a67) && (d->sib & 7) == 4 &&
	       !(d->rex & 1) && !(d->egpr & 1);
}

static void set_flags(const struct decoder *d, struct tl_insn *insn, const struct row *row)
{
	unsigned flags = row->flags;

	if (d->lock)
		flags |= TL_INSN_LOCK;
	if (d->rep && (flags & TL_INSN_STRING))
		flags |= TL_INSN_REP;
	if (d->notrack && (row->flow == TL_FLOW_JMP_IND || row->flow == TL_FLOW_CALL_IND))
		flags |= TL_INSN_NOTRACK;
	if (d->space)
		flags |= d->space == SPACE_VEX	  ? TL_INSN_VEX
			 : d->space == SPACE_EVEX ? TL_INSN_EVEX
						  : TL_INSN_REX2;
	if (insn->modrm_off && based_on_sp(d))
		flags |= TL_INSN_USES_SP;
	insn->flags |= flags;
	insn->flow = row->flow;
	insn->cond = row->flow == TL_FLOW_JCC && (insn->map == 1 || insn->opcode < 0x80)
			     ? insn->opcode & 15
			     : 0;
}

/* All of *insn but `bytes`, one by one: no call to memset may come out of this. */
static void clear(struct tl_insn *insn)
{
	insn->len = insn->modrm_off = insn->disp_off = insn->disp_size = 0;
	insn->imm_off = insn->imm_size = insn->imm2_size = 0;
	insn->flags = 0;
	insn->rel = insn->disp = 0;
}

/* Copy the bytes; never with more than `max` readable. */
static void keep_bytes(struct tl_insn *insn, const uint8_t *p, size_t max)
{
	struct word {
		uint64_t v;
	} __attribute__((packed, may_alias));

	if (max >= TL_INSN_MAX) {
		*(struct word *)insn->bytes = *(const struct word *)p;
		*(struct word *)(insn->bytes + 7) = *(const struct word *)(p + 7);
		return;
	}
	for (unsigned i = 0; i < TL_INSN_MAX; i++) {
		insn->bytes[i] = i < insn->len ? p[i] : 0;
		__asm__("" ::: "memory"); /* or the compiler makes it a call to memcpy */
	}
}

/* APX jmpabs: a1 behind a REX2 without W, R, X, B bits and other prefixes. */
static bool is_jmpabs(const struct decoder *d)
{
	return d->space == SPACE_REX2 && !d->map && d->p[d->n] == 0xa1;
}

static int finish_jmpabs(struct decoder *d, struct tl_insn *insn)
{
	if (d->rex & 8 || d->o66 || d->a67 || d->rep || d->lock || !more(d, 9))
		return 0;
	insn->row = heads[d->head][0xa1].first; /* attr.c knows REX2 there */
	insn->imm_off = d->n + 1;
	insn->imm_size = 8;
	insn->op_size = insn->addr_size = 8;
	insn->flow = TL_FLOW_JMP_IND; /* absolute: `rel` cannot say where */
	insn->flags = TL_INSN_REX2;
	insn->cond = 0;
	d->n += 9;
	return insn->len = d->n;
}

static void set_opcode(const struct decoder *d, struct tl_insn *insn)
{
	unsigned escape = d->space != SPACE_LEGACY ? 0 : d->map < 2 ? d->map : 2;

	insn->opcode_off = insn->prefix_len = d->n - escape;
	insn->opcode = d->p[d->n];
	insn->map = d->map;
	insn->rex = d->rex;
	insn->egpr = d->egpr;
	insn->vvvv = d->vvvv | (d->space == SPACE_EVEX ? (d->egpr & 8) << 1 : 0);
}

static int decode_row(struct decoder *d, struct tl_insn *insn)
{
	const struct head *head = &heads[d->head][d->p[d->n]];
	const struct row *row;

	if (!head->n)
		return 0;
	if (head->modrm) {
		if (!more(d, 2))
			return 0;
		d->modrm = d->p[d->n + 1];
	}
	row = find_row(d, head);
	if (!row || !row_allows(d, row))
		return 0;
	insn->row = row - tl_insn_rows;
	insn->op_size = operand_size(d, row);
	insn->addr_size = address_size(d, row);
	insn->flags = sp_flags(d, row);
	d->n++;
	if (head->modrm && !read_memory(d, insn, row))
		return 0;
	if (d->space == SPACE_LEGACY && d->map == 1 && insn->opcode == 0x0f) {
		if (!read_3dnow(d, insn))
			return 0;
	} else if (!read_immediate(d, insn, row)) {
		return 0;
	}
	set_flags(d, insn, row);
	return insn->len = d->n;
}

/* One by one for the same reason. */
static void start(struct decoder *d, const uint8_t *p, size_t max, bool m64)
{
	d->p = p;
	d->n = 0;
	d->max = max < TL_INSN_MAX ? max : TL_INSN_MAX;
	d->pp = d->rep = d->rex = d->vvvv = d->l = d->aaa = d->modrm = d->sib = d->egpr = 0;
	d->space = SPACE_LEGACY;
	d->map = d->head = 0;
	d->m64 = m64;
	d->o66 = d->a67 = d->lock = d->notrack = d->nv = d->b = d->z = d->nd = false;
}

int tl_insn_decode(struct tl_insn *insn, const void *buf, size_t max, enum tl_insn_mode mode)
{
	struct decoder d;
	int len;

	start(&d, buf, max, mode == TL_INSN_64);
	clear(insn);
	if (!read_prefixes(&d) || !read_opcode_space(&d))
		return 0;
	set_opcode(&d, insn);
	len = is_jmpabs(&d) ? finish_jmpabs(&d, insn) : decode_row(&d, insn);
	if (len)
		keep_bytes(insn, buf, max);
	return len;
}

/* Bytes of SIB and displacement behind a ModRM that names memory, 64-bit addresses. */
static unsigned memory_size(unsigned modrm, unsigned sib)
{
	unsigned mod = modrm >> 6, size = (modrm & 7) == 4, base = size ? sib & 7 : modrm & 7;

	return size + (mod == 1 ? 1 : mod == 2 || base == 5 ? 4 : 0);
}

unsigned tl_insn_plain(const uint8_t *p)
{
	const struct plain *op = plain[0];
	unsigned n = 0, wide = 0, modrm;

	if ((p[0] & 0xf0) == 0x40)
		wide = p[n++] >> 3 & 1;
	if (p[n] == 0x0f) {
		op = plain[1];
		n++;
	}
	op += p[n++];
	if (!(op->how & PLAIN_ALONE)) {
		modrm = p[n++];
		if (!((modrm < 0xc0 ? op->mem : op->reg) >> (modrm >> 3 & 7) & 1))
			return 0;
		n += modrm < 0xc0 ? memory_size(modrm, p[n]) : 0;
	}
	return n + (op->how & PLAIN_V ? 4u << wide : op->how & 15);
}

unsigned tl_insn_branch(struct tl_insn *insn, const uint8_t *p)
{
	unsigned two = p[0] == 0x0f, op = p[two], size;

	if (two ? (op & 0xf0) == 0x80 : (op & 0xf0) == 0x70)
		insn->flow = TL_FLOW_JCC;
	else if (!two && (op == 0xe9 || op == 0xeb))
		insn->flow = TL_FLOW_JMP;
	else if (!two && op == 0xe8)
		insn->flow = TL_FLOW_CALL;
	else
		return 0;
	size = two || op == 0xe8 || op == 0xe9 ? 4 : 1;
	insn->map = (uint8_t)two;
	insn->opcode = (uint8_t)op;
	insn->rel = read_signed(p + two + 1, size);
	return insn->len = (uint8_t)(two + 1 + size);
}
