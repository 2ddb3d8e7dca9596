/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/*
 * x86 instruction decoder: lengths, fields and the attributes that probing
 * needs. Not a disassembler: it never names an instruction.
 *
 * Two layers: decode.c finds the fields of one instruction from tables that
 * gen/ builds out of opcode-map.txt; attr.c answers questions about a decoded
 * instruction. Both are re-entrant, allocate nothing, read nothing past
 * `buf + max` and may be called from a signal handler.
 */
#ifndef TRAPLESS_ENGINE_INSN_X86_INSN_H
#define TRAPLESS_ENGINE_INSN_X86_INSN_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define TL_INSN_MAX 15 /* longest legal instruction, in bytes */

enum tl_insn_mode { TL_INSN_32, TL_INSN_64 };

/* clang-format off */

/* What an instruction does to the flow of control. */
enum tl_insn_flow {
	TL_FLOW_NEXT,	    /* goes on with the next instruction */
	TL_FLOW_JCC,	    /* direct conditional jump; also loop and jcxz (TL_INSN_LOOP), xbegin */
	TL_FLOW_JMP,	    /* direct jump */
	TL_FLOW_CALL,	    /* direct call */
	TL_FLOW_JMP_IND,    /* jump through register or memory; jmpabs, which `rel` cannot hold */
	TL_FLOW_CALL_IND,   /* call through register or memory */
	TL_FLOW_RET,	    /* near return */
	TL_FLOW_FAR,	    /* far jump, call, return, iret */
	TL_FLOW_SYSCALL,    /* syscall, sysenter, int n, into, int1 */
	TL_FLOW_TRAP,	    /* int3 */
	TL_FLOW_STOP,	    /* ud0 ud1 ud2, hlt: never goes on in user mode */
};

enum tl_insn_flag {
	TL_INSN_RIP_REL	   = 1 << 0, /* memory operand relative to the next instruction (64-bit mode) */
	TL_INSN_LOCK	   = 1 << 1, /* lock prefix */
	TL_INSN_REP	   = 1 << 2, /* rep or repne on a string instruction (restartable half way) */
	TL_INSN_PRIV	   = 1 << 3, /* faults in user mode */
	TL_INSN_ENDBR	   = 1 << 4, /* endbr32, endbr64 */
	TL_INSN_LOOP	   = 1 << 5, /* loop*, jcxz: only a rel8 form exists */
	TL_INSN_USES_SP	   = 1 << 6, /* uses the stack pointer: push pop call ret leave enter, explicit rsp */
	TL_INSN_USES_IP	   = 1 << 7, /* pushes or reads its own address: call, RIP-relative */
	TL_INSN_SETS_SP	   = 1 << 8, /* writes rsp other than by push, pop, call, ret: mov/lea/add/leave ... */
	TL_INSN_NOTRACK	   = 1 << 9, /* notrack prefix on an indirect branch */
	TL_INSN_STRING	   = 1 << 10,
	TL_INSN_VEX	   = 1 << 11, /* VEX, XOP */
	TL_INSN_EVEX	   = 1 << 12,
	TL_INSN_REX2	   = 1 << 13, /* APX */
};

struct tl_insn {
	uint8_t len;	    /* whole instruction, 1 to 15 */
	uint8_t prefix_len; /* legacy and REX/VEX/EVEX prefix bytes before the opcode */
	uint8_t opcode_off; /* first opcode byte, escape bytes included */
	uint8_t opcode;	    /* last opcode byte; of 3DNow the one behind the operands */
	uint8_t map;	    /* 0 one-byte, 1 0f, 2 0f38, 3 0f3a; with TL_INSN_VEX or _EVEX: their map number */
	uint8_t modrm_off;  /* 0: no ModRM */
	uint8_t disp_off, disp_size;	/* memory displacement; size 0: none */
	uint8_t imm_off, imm_size;	/* immediate (or moffs, or relative target); size 0: none */
	uint8_t imm2_size;		/* enter, far pointers: second immediate right behind the first */
	uint8_t op_size, addr_size;	/* 2, 4, 8 bytes */
	uint8_t rex;	    /* REX byte, or the equivalent W R X B bits of VEX/EVEX/REX2; 0: none */
	uint8_t flow;	    /* enum tl_insn_flow */
	uint8_t cond;	    /* low nibble of the condition for Jcc */
	uint16_t flags;	    /* enum tl_insn_flag */
	uint16_t row;	    /* index into the decoder's tables; for attr.c */
	uint8_t egpr;	    /* APX and EVEX: high register bits, R4 X4 B4 as 4 2 1; V' as 8 */
	uint8_t vvvv;	    /* VEX, EVEX: register that vvvv names (not inverted) */
	int64_t rel;	    /* direct branch: displacement from the next instruction */
	int64_t disp;	    /* sign-extended displacement, as encoded (EVEX's disp8 is not scaled) */
	uint8_t bytes[TL_INSN_MAX];
};

/* clang-format on */

/*
 * Decode the instruction at `buf`, of which `max` bytes may be read.
 * Returns its length, or 0 when the bytes are not a valid instruction of this
 * mode or are cut short (*insn is then unspecified).
 */
int tl_insn_decode(struct tl_insn *insn, const void *buf, size_t max, enum tl_insn_mode mode);

/*
 * The length of an instruction of 64-bit mode that is like most: control goes
 * on behind it, it is no padding, leaves the direction flag alone, and has no
 * prefix but REX. 0: ask tl_insn_decode(). TL_INSN_MAX bytes are read.
 */
unsigned tl_insn_plain(const uint8_t *p);

/*
 * The same of a direct jump or call without prefixes, also its `flow` and `rel`:
 * len, flow, rel, map and opcode of *insn are set, the rest is not.
 */
unsigned tl_insn_branch(struct tl_insn *insn, const uint8_t *p);

/*
 * Target of a direct branch at `addr`; RIP-relative operand's address. In
 * 32-bit mode the caller keeps the low 32 bits, with a 66 prefix the low 16.
 */
static inline uint64_t tl_insn_target(const struct tl_insn *i, uint64_t addr)
{
	return addr + i->len + (uint64_t)i->rel;
}

static inline uint64_t tl_insn_rip_operand(const struct tl_insn *i, uint64_t addr)
{
	uint64_t operand = addr + i->len + (uint64_t)i->disp;

	return i->addr_size == 4 ? (uint32_t)operand : operand; /* prefix 67: eip-relative */
}

/* attr.c: questions about one decoded instruction. */
bool tl_insn_is_direct_branch(const struct tl_insn *i); /* JCC, JMP, CALL with a known target */
bool tl_insn_ends_block(const struct tl_insn *i); /* control never reaches the next instruction */
bool tl_insn_is_nop(const struct tl_insn *i); /* nop, multi-byte nop, xchg %ax,%ax */
bool tl_insn_is_padding(const struct tl_insn *i); /* nop or int3: fills space between functions */
/* Its copy may be followed by a jump back (kprobes' booster). */
bool tl_insn_is_boostable(const struct tl_insn *i);
/* General registers read, written or addressed: bit n = register n. An over-estimate is safe. */
uint32_t tl_insn_gp_used(const struct tl_insn *i);

#endif
