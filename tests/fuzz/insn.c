/* SPDX-License-Identifier: MIT */
/*
 * The x86 decoder: the first byte picks the mode, the rest is code. What has
 * to hold for any bytes: fields lie inside of the instruction, nothing behind
 * it matters, one byte less is not enough, and the short way to its length
 * agrees.
 */
#include "../../engine/insn/x86/insn.h"
#include "fuzz.h"

static void fields_inside(const struct tl_insn *i)
{
	must(i->len >= 1 && i->len <= TL_INSN_MAX);
	must(i->prefix_len == i->opcode_off && i->opcode_off < i->len);
	must(i->modrm_off < i->len);
	must(i->disp_off + i->disp_size <= i->len);
	must(i->imm_off + i->imm_size + i->imm2_size <= i->len);
	must(!i->imm_size || i->disp_off + i->disp_size <= i->imm_off);
	must(!tl_insn_is_boostable(i) || !tl_insn_ends_block(i));
	must(!tl_insn_is_nop(i) || tl_insn_is_padding(i));
	(void)tl_insn_gp_used(i);
}

static void plain_agrees(const uint8_t *data, size_t size)
{
	uint8_t code[TL_INSN_MAX] = {0};
	struct tl_insn insn;
	int len;

	memcpy(code, data, size < sizeof(code) ? size : sizeof(code));
	len = (int)tl_insn_plain(code);
	if (!len)
		return;
	must(tl_insn_decode(&insn, code, sizeof(code), TL_INSN_64) == len);
	must(insn.flow == TL_FLOW_NEXT && !tl_insn_is_padding(&insn));
}

static void branch_agrees(const uint8_t *data, size_t size)
{
	uint8_t code[TL_INSN_MAX] = {0};
	struct tl_insn quick, insn;
	int len;

	memcpy(code, data, size < sizeof(code) ? size : sizeof(code));
	len = (int)tl_insn_branch(&quick, code);
	if (!len)
		return;
	must(tl_insn_decode(&insn, code, sizeof(code), TL_INSN_64) == len);
	must(insn.flow == quick.flow && insn.rel == quick.rel);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	enum tl_insn_mode mode;
	struct tl_insn insn, again;
	uint8_t *exact;
	int len;

	if (!size)
		return 0;
	plain_agrees(data + 1, size - 1);
	branch_agrees(data + 1, size - 1);
	mode = data[0] & 1 ? TL_INSN_64 : TL_INSN_32;
	len = tl_insn_decode(&insn, data + 1, size - 1, mode);
	if (!len)
		return 0;
	must(len == insn.len && (size_t)len <= size - 1);
	fields_inside(&insn);
	exact = malloc((size_t)len);
	must(exact != NULL);
	memcpy(exact, data + 1, (size_t)len);
	must(tl_insn_decode(&again, exact, (size_t)len, mode) == len);
	must(!memcmp(again.bytes, exact, (size_t)len) && again.row == insn.row);
	must(tl_insn_decode(&again, exact, (size_t)len - 1, mode) == 0);
	free(exact);
	return 0;
}
