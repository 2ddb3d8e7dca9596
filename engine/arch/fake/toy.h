/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/*
 * A toy machine for unit tests of the core on any host: instructions of one to
 * six bytes, little-endian operands, breakpoints, jumps of two and five bytes.
 */
#ifndef TRAPLESS_ENGINE_ARCH_TOY_H
#define TRAPLESS_ENGINE_ARCH_TOY_H

#include "../arch.h"

enum toy_op {
	TOY_NOP = 1, /* 1 byte */
	TOY_INC = 2, /* 2: register */
	TOY_ADDI = 3, /* 6: register, imm32 */
	TOY_JMP = 4, /* 5: rel32 */
	TOY_JNZ = 5, /* 2: rel8, taken when r0 is not 0 */
	TOY_CALL = 6, /* 5: rel32 */
	TOY_RET = 7, /* 1 */
	TOY_SHORT = 8, /* 2: rel8 */
	TOY_JMPI = 9, /* 2: register */
	TOY_TRAP = 10, /* 1 */
	TOY_DEC = 11, /* 2: register */
	TOY_SET = 12, /* 3: register, imm8 */
	TOY_FIXED = 13, /* 1: cannot be relocated */
	TOY_SWITCH = 14, /* 5: rel32 of a table of offsets; leads to where it says */
	/* In detours only. */
	TOY_HIT = 0x80, /* 9: point; runs the pre handlers */
	TOY_POST = 0x81, /* 9 */
	TOY_GO = 0x82, /* 9: absolute jump */
	TOY_GONZ = 0x83, /* 9: absolute, when r0 is not 0 */
	TOY_PUSH = 0x84, /* 9: push an address */
};

/* The operand of HIT and POST is the address of the struct tl_site, plus what tl_plan_gives() says. */
uint64_t toy_word(const uint8_t *p); /* 8 little-endian bytes */
unsigned toy_len(uint8_t op); /* 0: no instruction */
int32_t toy_rel(const uint8_t *insn);

#endif
