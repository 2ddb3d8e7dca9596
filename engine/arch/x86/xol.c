/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/*
 * Displaced instructions: copies that do at another address what the original
 * does at its own. Most are copied as they are; RIP-relative operands get
 * another displacement; direct branches are written anew; calls push the
 * address behind the original, so that callee and unwinders see what they
 * always saw.
 */
#include "x86.h"

#define MODRM_MOD(m) ((m) >> 6)
#define MODRM_RM(m)  ((m)&7)

static uint8_t modrm(const struct tl_insn *i)
{
	return i->bytes[i->modrm_off];
}

static bool has_prefix(const struct tl_insn *i, uint8_t prefix)
{
	for (unsigned n = 0; n < i->prefix_len; n++)
		if (i->bytes[n] == prefix)
			return true;
	return false;
}

/* Memory operand based on rsp (not r12): a pushed word moves it. */
static bool mem_on_sp(const struct tl_insn *i)
{
	return i->modrm_off && MODRM_MOD(modrm(i)) != 3 && MODRM_RM(modrm(i)) == 4 &&
	       (i->bytes[i->modrm_off + 1] & 7) == RSP && !(i->rex & 1) &&
	       !(MODRM_MOD(modrm(i)) == 0 && (i->bytes[i->modrm_off + 1] & 7) == RBP);
}

/* call or jmp through the stack pointer itself: never seen, not worth a rule. */
static bool through_sp(const struct tl_insn *i)
{
	return MODRM_MOD(modrm(i)) == 3 && MODRM_RM(modrm(i)) == RSP && !(i->rex & 1);
}

/* A 16-bit operand size on a branch: processors differ in what it means. */
static bool odd_branch(const struct tl_insn *i)
{
	return (i->flags & TL_INSN_REX2) || (has_prefix(i, 0x66) && !(i->rex & 8)) ||
	       (i->imm_size != 1 && i->imm_size != 4);
}

int x86_can_move(const struct tl_insn *i)
{
	if (i->flags & TL_INSN_PRIV)
		return -TL_E_NO_RELOCATE;
	/* Relative to eip: the sum is cut to 32 bits, which another place may not do without. */
	if ((i->flags & TL_INSN_RIP_REL) && i->addr_size != 8)
		return -TL_E_NO_RELOCATE;
	switch (i->flow) {
	case TL_FLOW_FAR:
	case TL_FLOW_TRAP:
	case TL_FLOW_STOP:
		return -TL_E_NO_RELOCATE;
	case TL_FLOW_SYSCALL:
		/* Only syscall: int n and sysenter have landing rules of their own. */
		return i->map == 1 && i->opcode == 0x05 ? 0 : -TL_E_NO_RELOCATE;
	case TL_FLOW_JCC:
		if (i->map == 0 && i->opcode == 0xc7)
			return -TL_E_NO_RELOCATE; /* xbegin: the abort address is a promise */
		return odd_branch(i) ? -TL_E_NO_RELOCATE : 0;
	case TL_FLOW_JMP:
	case TL_FLOW_CALL:
		return odd_branch(i) ? -TL_E_NO_RELOCATE : 0;
	case TL_FLOW_JMP_IND:
	case TL_FLOW_CALL_IND:
		/* An operand below rsp would be where the return address goes. */
		if (i->flow == TL_FLOW_CALL_IND && mem_on_sp(i) && i->disp < 0)
			return -TL_E_NO_RELOCATE;
		return (i->flags & TL_INSN_REX2) || has_prefix(i, 0x66) || through_sp(i) ||
				       (i->addr_size != 8 && MODRM_MOD(modrm(i)) != 3)
			       ? -TL_E_NO_RELOCATE
			       : 0;
	default:
		return 0;
	}
}

bool x86_can_join(const struct tl_insn *i, bool last)
{
	if (x86_can_move(i))
		return false;
	/* Threads stand behind system calls and calls for long: that must not be inside the window. */
	if (i->flow == TL_FLOW_SYSCALL)
		return false;
	return last || (i->flow != TL_FLOW_CALL && i->flow != TL_FLOW_CALL_IND);
}

bool x86_must_stay(const struct tl_code *code, const struct tl_insn *i)
{
	return code->shadow_stack && (i->flow == TL_FLOW_CALL || i->flow == TL_FLOW_CALL_IND);
}

bool x86_can_retarget(const struct tl_insn *i)
{
	if (x86_can_move(i))
		return false;
	if (i->flow == TL_FLOW_CALL || i->flow == TL_FLOW_JMP)
		return i->imm_size == 4;
	/* Room for e8 rel32 behind one or two prefixes without effect. */
	return i->flow == TL_FLOW_CALL_IND && (i->len == 6 || i->len == 7);
}

bool x86_refers(const struct tl_insn *i, uintptr_t addr, uintptr_t *target)
{
	if (tl_insn_is_direct_branch(i)) {
		*target = (uintptr_t)tl_insn_target(i, addr);
		return true;
	}
	if (i->flags & TL_INSN_RIP_REL) {
		*target = (uintptr_t)tl_insn_rip_operand(i, addr);
		return true;
	}
	return false;
}

/* Copy with `out` in place of the bytes; a RIP-relative displacement is at i->disp_off. */
static void copy(struct x86_emit *e, const struct tl_insn *i, uintptr_t addr, const uint8_t *bytes)
{
	uintptr_t here = e->at + e->n;
	int64_t disp;

	if (!(i->flags & TL_INSN_RIP_REL)) {
		x86_bytes(e, bytes, i->len);
		return;
	}
	disp = (int64_t)(tl_insn_rip_operand(i, addr) - (here + i->len));
	if (disp != (int32_t)disp)
		e->err = -TL_E_OUT_OF_REACH;
	x86_bytes(e, bytes, i->disp_off);
	x86_u32(e, (uint32_t)disp);
	x86_bytes(e, bytes + i->disp_off + 4, (size_t)(i->len - i->disp_off - 4));
}

/* The address behind the original call, pushed in one instruction. */
static void push_return(struct x86_emit *e, uintptr_t ret)
{
	x86_byte(e, 0xff);
	x86_byte(e, 0x35);
	x86_lit32(e, ret);
}

/* jmp through the operand of an indirect call, one word having been pushed. */
static void jmp_through(struct x86_emit *e, const struct tl_insn *i, uintptr_t addr)
{
	uint8_t b[TL_INSN_MAX];
	unsigned m = i->modrm_off;

	x86_mark(e, TL_PLACE_PUSHED, addr);
	for (unsigned n = 0; n < i->len; n++)
		b[n] = i->bytes[n];
	b[m] = (uint8_t)((b[m] & ~0x38) | 4 << 3);
	if (!mem_on_sp(i)) {
		copy(e, i, addr, b);
		return;
	}
	if (i->disp > INT32_MAX - 8)
		e->err = -TL_E_NO_RELOCATE;
	b[m] = (uint8_t)((b[m] & 0x3f) | 0x80); /* always disp32 */
	x86_bytes(e, b, m + 2);
	x86_u32(e, (uint32_t)(i->disp + 8));
}

/* loop and jcxz exist with 8-bit reach only: two hops. */
static void displace_loop(struct x86_emit *e, const struct tl_insn *i, uintptr_t addr)
{
	x86_bytes(e, i->bytes, i->imm_off);
	x86_byte(e, 2);
	x86_mark(e, TL_PLACE_COPY, addr + i->len);
	x86_byte(e, 0xeb);
	x86_byte(e, X86_JMP_LEN);
	x86_mark(e, TL_PLACE_COPY, tl_insn_target(i, addr));
	x86_jmp_to(e, tl_insn_target(i, addr));
}

void x86_displace(struct x86_emit *e, const struct tl_insn *i, uintptr_t addr)
{
	uintptr_t target = (uintptr_t)tl_insn_target(i, addr);

	switch (i->flow) {
	case TL_FLOW_JCC:
		if (i->flags & TL_INSN_LOOP)
			displace_loop(e, i, addr);
		else
			x86_jcc_to(e, i->cond, target);
		break;
	case TL_FLOW_JMP:
		x86_jmp_to(e, target);
		break;
	case TL_FLOW_CALL:
		push_return(e, addr + i->len);
		x86_mark(e, TL_PLACE_COPY, target);
		x86_jmp_to(e, target);
		break;
	case TL_FLOW_CALL_IND:
		push_return(e, addr + i->len);
		jmp_through(e, i, addr);
		break;
	case TL_FLOW_SYSCALL: /* which leaves the address behind it in rcx */
		copy(e, i, addr, i->bytes);
		x86_mark(e, TL_PLACE_COPY, addr + i->len);
		x86_address(e, RCX, addr + i->len);
		break;
	default:
		copy(e, i, addr, i->bytes);
	}
}

void x86_displace_retargeted(struct x86_emit *e, const struct tl_insn *i, uintptr_t addr)
{
	uintptr_t target = (uintptr_t)tl_insn_target(i, addr);

	if (i->flow == TL_FLOW_CALL_IND) {
		jmp_through(e, i, addr);
		return;
	}
	x86_mark(e, TL_PLACE_COPY, target);
	x86_jmp_to(e, target);
}
