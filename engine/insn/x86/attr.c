/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/* Questions about one decoded instruction; insn.h says what each means. */
#include "row.h"

bool tl_insn_is_direct_branch(const struct tl_insn *i)
{
	return i->flow == TL_FLOW_JCC || i->flow == TL_FLOW_JMP || i->flow == TL_FLOW_CALL;
}

bool tl_insn_ends_block(const struct tl_insn *i)
{
	switch (i->flow) {
	case TL_FLOW_JMP:
	case TL_FLOW_JMP_IND:
	case TL_FLOW_RET:
	case TL_FLOW_STOP:
		return true;
	case TL_FLOW_FAR: /* a far call comes back */
		return !(i->opcode == 0x9a ||
			 (i->opcode == 0xff && (i->bytes[i->modrm_off] >> 3 & 7) == 3));
	default:
		return false;
	}
}

static unsigned modrm(const struct tl_insn *i)
{
	return i->modrm_off ? i->bytes[i->modrm_off] : 0;
}

static bool is_legacy(const struct tl_insn *i)
{
	return !(i->flags & (TL_INSN_VEX | TL_INSN_EVEX));
}

/* 90 is a nop unless REX.B makes it xchg %r8,%rax; f3 90 is pause. */
static bool is_one_byte_nop(const struct tl_insn *i)
{
	if (i->map || i->opcode != 0x90 || (i->rex & 1) || (i->egpr & 1))
		return false;
	for (unsigned n = 0; n < i->prefix_len; n++)
		if (i->bytes[n] == 0xf3)
			return false;
	return true;
}

bool tl_insn_is_nop(const struct tl_insn *i)
{
	if (!is_legacy(i))
		return false;
	if (i->map == 1 && i->opcode == 0x1f)
		return (modrm(i) >> 3 & 7) == 0;
	return is_one_byte_nop(i);
}

bool tl_insn_is_padding(const struct tl_insn *i)
{
	return i->flow == TL_FLOW_TRAP || tl_insn_is_nop(i);
}

/*
 * The copy runs, and a jump behind it leads back. That fails if control does
 * not arrive behind it, or if the address of the copy would be seen: pushed,
 * or read through an operand relative to it. Privileged ones fault anyway, and
 * the fault's address would be ours; ENDBR does nothing but where it stands.
 */
bool tl_insn_is_boostable(const struct tl_insn *i)
{
	const struct row *row = &tl_insn_rows[i->row];

	if (i->flow != TL_FLOW_NEXT)
		return false;
	if (i->flags & (TL_INSN_PRIV | TL_INSN_USES_IP | TL_INSN_ENDBR))
		return false;
	/* a signal or debug trap half way or right behind would show the copy */
	if (row->reg == KIND_SEG && (row->props & ROW_REG_W))
		return false; /* mov to ss holds interrupts off for one instruction */
	if (i->map == 0 && is_legacy(i) && (i->opcode == 0x9d || i->opcode == 0x17))
		return false; /* popf may set TF; pop ss */
	return true;
}

static uint32_t high(const struct tl_insn *i, unsigned rex_bit, unsigned egpr_bit)
{
	return (i->rex & rex_bit ? 8 : 0) | (i->egpr & egpr_bit ? 16 : 0);
}

static uint32_t memory_registers(const struct tl_insn *i, unsigned m)
{
	unsigned sib;
	uint32_t used = 0;

	if (i->addr_size == 2)
		return 1u << 3 | 1u << 5 | 1u << 6 | 1u << 7; /* bx bp si di */
	if ((m & 0xc7) == 5)
		return 0; /* displacement only, or RIP */
	if ((m & 7) != 4)
		return 1u << ((m & 7) | high(i, 1, 1));
	sib = i->bytes[i->modrm_off + 1];
	if (m >> 6 || (sib & 7) != 5)
		used |= 1u << ((sib & 7) | high(i, 1, 1));
	if ((sib >> 3 & 7) != 4 || high(i, 2, 2))
		used |= 1u << ((sib >> 3 & 7) | high(i, 2, 2));
	return used;
}

/* Register `n`; of a byte register without REX also what ah, ch, dh, bh belong to. */
static uint32_t gp_bit(const struct tl_insn *i, uint32_t byte, unsigned n)
{
	uint32_t bit = 1u << n;

	if (byte && !i->rex && n >= 4 && n < 8)
		bit |= 1u << (n - 4);
	return bit;
}

uint32_t tl_insn_gp_used(const struct tl_insn *i)
{
	const struct row *row = &tl_insn_rows[i->row];
	unsigned m = modrm(i);
	uint32_t used = row->use;

	if (i->flow == TL_FLOW_SYSCALL || i->flow == TL_FLOW_FAR)
		return UINT32_MAX;
	if (i->flags & (TL_INSN_USES_SP | TL_INSN_SETS_SP))
		used |= 1u << 4;
	if (i->flags & TL_INSN_REP)
		used |= 1u << 1;
	if (row->imm == IMM_O && !(i->flags & TL_INSN_REX2))
		used |= 1u;
	if (row->props & ROW_Z)
		used |= gp_bit(i, row->props & ROW_RM_BYTE, (i->opcode & 7) | high(i, 1, 1));
	if (row->reg == KIND_GP)
		used |= gp_bit(i, row->props & ROW_REG_BYTE, (m >> 3 & 7) | high(i, 4, 4));
	if (row->v == KIND_GP)
		used |= 1u << (i->vvvv & 31);
	if (!i->modrm_off || (row->props & ROW_ANYMOD))
		return row->props & ROW_ANYMOD ? used | 1u << ((m & 7) | high(i, 1, 1)) : used;
	if (m < 0xc0)
		return used | memory_registers(i, m);
	if (row->rm == KIND_GP)
		used |= gp_bit(i, row->props & ROW_RM_BYTE, (m & 7) | high(i, 1, 1));
	return used;
}
