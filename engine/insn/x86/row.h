/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/*
 * What a row of the generated tables holds. Private to the decoder.
 *
 * decode.c packs what it has seen of an instruction into one key. A row
 * matches when (key & mask) == value; the rows of an opcode are tried in the
 * order of opcode-map.txt. What a mask cannot say is a property, checked once
 * for the row that matched.
 */
#ifndef TRAPLESS_ENGINE_INSN_X86_ROW_H
#define TRAPLESS_ENGINE_INSN_X86_ROW_H

#include "insn.h"

/* Bit positions in a key; gen/decoder-tables has the same list. */
enum {
	KEY_PP = 0, /* 2 bits: none, 66, f3, f2 */
	KEY_MOD3 = 2,
	KEY_REG = 3, /* 3 bits */
	KEY_RM = 6, /* 3 bits */
	KEY_W = 9,
	KEY_L = 10, /* 2 bits */
	KEY_M64 = 12,
	KEY_NV = 13, /* vvvv names a register */
	KEY_V2 = 14, /* EVEX: so does V' */
	KEY_O66 = 15,
	KEY_ND = 16,
	KEY_A67 = 17,
};

enum row_prop {
	ROW_LOCK = 1 << 0,
	ROW_D64 = 1 << 1,
	ROW_F64 = 1 << 2,
	ROW_REG_W = 1 << 3, /* written: reg, r/m, vvvv, register in the opcode */
	ROW_RM_W = 1 << 4,
	ROW_V_W = 1 << 5,
	ROW_Z = 1 << 6, /* general register in the opcode's low bits */
	ROW_Z_W = 1 << 7,
	ROW_VSIB = 1 << 8,
	ROW_SIB = 1 << 9,
	ROW_NORIP = 1 << 10,
	ROW_NO16 = 1 << 11,
	ROW_NOREX2 = 1 << 12,
	ROW_MASK = 1 << 13,
	ROW_ZERO = 1 << 14,
	ROW_MUSTMASK = 1 << 15,
	ROW_BC = 1 << 16,
	ROW_ER = 1 << 17,
	ROW_SAE = 1 << 18,
	ROW_DIST = 1 << 19,
	ROW_ANYMOD = 1 << 20, /* ModRM.mod is not looked at: registers */
	ROW_RM_BYTE = 1 << 21, /* 8-bit register: ah, ch, dh, bh without REX; also in the opcode */
	ROW_REG_BYTE = 1 << 25,
	ROW_MAP4 = 1 << 22, /* APX: EVEX bits have meanings of their own */
	ROW_NF = 1 << 23, /* may leave the flags alone */
	ROW_SCC = 1 << 24, /* a condition stands where V' and the mask do */
};

enum row_kind {
	KIND_NONE,
	KIND_GP,
	KIND_VEC,
	KIND_MMX,
	KIND_K,
	KIND_TILE,
	KIND_SEG,
	KIND_CR,
	KIND_DR,
	KIND_BND
};

enum row_imm {
	IMM_NONE,
	IMM_B,
	IMM_W,
	IMM_D,
	IMM_Q,
	IMM_Z,
	IMM_V,
	IMM_O, /* moffs: address size */
	IMM_P, /* far pointer */
	IMM_WB, /* enter */
	IMM_BB, /* extrq, insertq */
	IMM_JB,
	IMM_JZ,
	IMM_JX, /* xbegin */
};

struct row {
	uint32_t mask, value;
	uint32_t props;
	uint16_t flags; /* enum tl_insn_flag */
	uint16_t use; /* general registers used without being encoded */
	uint8_t reg, rm, v; /* enum row_kind */
	uint8_t imm, flow;
};

struct head {
	uint16_t first;
	uint8_t n;
	uint8_t modrm;
};

/* What of an opcode tells the length without more ado, as tl_insn_plain() reads it. */
enum {
	PLAIN_V =
		0x10, /* an immediate of 8 bytes with REX.W, else 4; lower bits: of so many bytes */
	PLAIN_ALONE = 0x20, /* there is no ModRM */
};
struct plain {
	uint8_t how;
	uint8_t mem,
		reg; /* bit per ModRM.reg: those forms are plain, with memory, with a register */
};

extern const struct row tl_insn_rows[] __attribute__((visibility("hidden")));

#endif
