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

/* 1: leaves, *kind says how. 0: stays. Or -TL_E_NO_EXIT. */
static int leaves(const struct tl_insn *i, uintptr_t addr, const struct tl_insn *before,
	const struct tl_func_part *parts, size_t nparts, uint8_t *kind)
{
	switch (i->flow) {
	case TL_FLOW_RET:
		*kind = TL_EXIT_RETURN;
		return 1;
	case TL_FLOW_JMP:
	case TL_FLOW_JCC:
		*kind = i->flow == TL_FLOW_JMP ? TL_EXIT_TAIL : TL_EXIT_TAIL_COND;
		if (in_parts(parts, nparts, (uintptr_t)tl_insn_target(i, addr)))
			return 0;
		return i->flags & TL_INSN_LOOP ? -TL_E_NO_EXIT : 1;
	case TL_FLOW_JMP_IND:
		*kind = TL_EXIT_TAIL;
		if (x86_is_got_jump(i))
			return 1;
		return is_switch(i, before) ? 0 : -TL_E_NO_EXIT;
	case TL_FLOW_FAR:
		return -TL_E_NO_EXIT;
	default:
		return 0;
	}
}

int tl_arch_exits(const struct tl_code *code, const struct tl_func_part *parts, size_t nparts,
	struct tl_exit *exits, size_t max)
{
	struct tl_insn i = {0}, before[3] = {{0}};
	size_t found = 0;
	uint8_t kind = 0;

	if (max)
		exits[0].addr = 0;
	if (!code->complete)
		return -TL_E_NO_EXIT;
	for (uintptr_t addr = code->start; addr < code->start + code->size; addr += i.len) {
		int ret;

		if (!x86_decode_at(code, addr, &i))
			return -TL_E_BAD_INSN;
		ret = leaves(&i, addr, before, parts, nparts, &kind);
		if (ret == -TL_E_NO_EXIT && max)
			exits[0].addr = addr;
		if (ret < 0)
			return ret;
		if (ret && found < max)
			exits[found] = (struct tl_exit){.addr = addr, .kind = kind, .cond = i.cond};
		found += (size_t)ret;
		before[2] = before[1];
		before[1] = before[0];
		before[0] = i;
	}
	return (int)found;
}

uintptr_t tl_arch_entry_ret_ip(const struct tl_regs *regs)
{
	return *(const uintptr_t *)regs->sp;
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
