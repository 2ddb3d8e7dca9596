/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/*
 * Does an indirect jump surely leave, as that of `if (hook) hook();` does? To jump
 * into its own middle a function must get hold of an address there (a label's,
 * taken by GNU C's &&, or a table of them), and only it can name one.
 */
#include "x86.h"

enum { LOWEST_DATA = 0x10000, TABLE = 64 };

/* What an instruction names: an address, or a variable there. */
struct names {
	uintptr_t place;
	bool variable;
};
enum { NAMES = 3 };

static bool in_middle(const struct tl_code *code, uintptr_t addr)
{
	return addr > code->start && addr - code->start < code->size;
}

static uintptr_t word_at(const struct tl_code *code, uintptr_t at)
{
	uintptr_t word;

	return code->read(at, &word, sizeof(word)) == sizeof(word) ? word : 0;
}

/* A number that may as well be an address; else 0. */
static uintptr_t address(const struct tl_code *code, uintptr_t v)
{
	uint8_t byte;

	return v >= LOWEST_DATA && code->read(v, &byte, 1) == 1 ? v : 0;
}

static uintptr_t immediate(const struct tl_insn *i)
{
	uintptr_t v = 0;

	if (!tl_insn_is_direct_branch(i) && (i->imm_size == 4 || i->imm_size == 8))
		__builtin_memcpy(&v, i->bytes + i->imm_off, i->imm_size);
	return v;
}

/* As an operand of 8 bytes has it. */
static uintptr_t extended(const struct tl_insn *i)
{
	uintptr_t v = immediate(i);

	return i->imm_size == 4 ? (uintptr_t)(int32_t)(uint32_t)v : v;
}

static void names_of(
	const struct tl_code *code, const struct tl_insn *i, uintptr_t addr, struct names n[NAMES])
{
	bool is_lea = i->map == 0 && i->opcode == 0x8d;
	uintptr_t number = address(code, immediate(i));

	n[0] = (struct names){number ? number : address(code, extended(i)), false};
	n[1] = n[2] = (struct names){0, false};
	if (i->flags & TL_INSN_RIP_REL)
		n[1] = (struct names){(uintptr_t)tl_insn_rip_operand(i, addr), !is_lea};
	else if (i->disp_size == 4)
		n[1].place = address(code, (uintptr_t)i->disp);
	if (i->flow == TL_FLOW_CALL && !i->rel)
		n[2].place = addr + i->len;
}

/* A variable that holds an address of the function's middle, or where one stands. */
static bool leads_in(const struct tl_code *code, uintptr_t at)
{
	uintptr_t v = word_at(code, at);

	return in_middle(code, v) || (address(code, v) && in_middle(code, word_at(code, v)));
}

/* Of addresses, or of distances from it. */
static bool is_table(const struct tl_code *code, uintptr_t at)
{
	uintptr_t v;

	for (uintptr_t n = 0; n < TABLE; n++) {
		v = word_at(code, at + 4 * n);
		if (in_middle(code, at + (uintptr_t)(int32_t)(uint32_t)v) ||
			(!(n & 1) && in_middle(code, v)))
			return true;
	}
	return false;
}

/*
 * Whoever names anything by its address but variables, whose values lead
 * elsewhere, is not trusted, nor is who goes on in another place (.cold), which
 * may name what it likes: a jump too many taken for one that leaves is a crash.
 */
bool x86_only_leaves(const struct tl_code *code)
{
	struct names n[NAMES];
	struct tl_insn i;

	if (!code->read || code->port & X86_PORT_LEAVES || code->npads)
		return false;
	for (uintptr_t a = code->start; a < code->start + code->size; a += i.len) {
		if (!x86_decode_at(code, a, &i))
			return false;
		names_of(code, &i, a, n);
		for (unsigned k = 0; k < NAMES; k++)
			if (n[k].place && (!n[k].variable || leads_in(code, n[k].place)))
				return false;
	}
	return true;
}

bool x86_names_middle(const struct tl_code *code)
{
	struct names n[NAMES];
	struct tl_insn i;

	for (uintptr_t a = code->start; a < code->start + code->size; a += i.len) {
		if (!code->read || !x86_decode_at(code, a, &i))
			return true;
		names_of(code, &i, a, n);
		for (unsigned k = 0; k < NAMES; k++)
			if (n[k].place &&
				(in_middle(code, n[k].place) || leads_in(code, n[k].place) ||
					is_table(code, n[k].place)))
				return true;
	}
	return false;
}
