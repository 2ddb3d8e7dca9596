/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/* The bytes of a patch, and how they may be written under running threads. */
#include "x86.h"

#define INT3 0xcc

size_t tl_arch_trap_insn(uint8_t *buf)
{
	buf[0] = INT3;
	return 1;
}

static void put_rel32(uint8_t *p, uintptr_t from, uintptr_t to)
{
	uint32_t rel = (uint32_t)(to - from);

	for (int i = 0; i < 4; i++)
		p[i] = (uint8_t)(rel >> (8 * i));
}

size_t tl_arch_switch(uintptr_t at, uintptr_t target, uint8_t *nop, uint8_t *jump)
{
	static const uint8_t nopl[X86_JMP_LEN] = {0x0f, 0x1f, 0x44, 0, 0};
	intptr_t far = (intptr_t)(target - at - X86_JMP_LEN);

	if (at / tl_arch_word != (at + X86_JMP_LEN - 1) / tl_arch_word || far != (int32_t)far)
		return 0;
	for (unsigned i = 0; nop && i < X86_JMP_LEN; i++)
		nop[i] = nopl[i];
	if (jump) {
		jump[0] = 0xe9;
		put_rel32(jump + 1, at + X86_JMP_LEN, target);
	}
	return X86_JMP_LEN;
}

/*
 * A call through memory becomes a direct call of the same length: address-size
 * prefixes, which linkers use for the same purpose, fill the rest.
 */
static void retarget_bytes(const struct tl_plan *plan, uintptr_t at, uint8_t *buf)
{
	struct tl_insn i;
	unsigned rel = plan->len - 4;

	for (unsigned n = 0; n < plan->len; n++)
		buf[n] = plan->orig[n];
	if (!tl_insn_decode(&i, plan->orig, plan->len, TL_INSN_64))
		return; /* it was decoded when planned */
	if (i.flow == TL_FLOW_CALL_IND) {
		for (unsigned n = 0; n + 5 < plan->len; n++)
			buf[n] = 0x67;
		buf[rel - 1] = 0xe8;
	}
	put_rel32(buf + rel, plan->start + plan->len, at);
}

/* The last bytes of a jump that shares some stand in the text already. */
static void jump_bytes(const struct tl_plan *plan, uintptr_t at, uint8_t *buf)
{
	uint8_t jump[TL_INSN_MAX];
	unsigned n = plan->form;

	for (unsigned i = 0; i < n; i++)
		jump[i] = plan->prefix;
	jump[n] = 0xe9;
	put_rel32(jump + n + 1, plan->start + n + X86_JMP_LEN, at);
	for (unsigned i = 0; i < plan->changed; i++)
		buf[i] = jump[i];
}

void tl_arch_patch_bytes(const struct tl_plan *plan, uintptr_t at, uint8_t *buf)
{
	switch (plan->rung) {
	case TL_RUNG_TRAP:
		buf[0] = INT3;
		break;
	case TL_RUNG_RETARGET:
		retarget_bytes(plan, at, buf);
		break;
	default:
		jump_bytes(plan, at, buf);
	}
}

/* First and last byte that differ; false: none does. */
static bool differing(
	const uint8_t *from, const uint8_t *to, size_t len, size_t *first, size_t *last)
{
	bool any = false;

	for (size_t n = 0; n < len; n++) {
		if (from[n] == to[n])
			continue;
		if (!any)
			*first = n;
		*last = n;
		any = true;
	}
	return any;
}

const size_t tl_arch_word = 8;

enum tl_patch_how tl_arch_patch_how(uintptr_t addr, const uint8_t *from, const uint8_t *to,
	size_t len, bool one_insn, struct tl_patch_step *step)
{
	size_t first = 0, last = 0;
	struct tl_insn i;

	differing(from, to, len, &first, &last);
	step->spin_len = 0;
	step->word = (addr + first) & ~(uintptr_t)7;
	/* One byte is whole by the manual; more in one aligned word, by the vendor check. */
	if (first == last || ((addr + last - step->word < 8) && tl_arch_atomic_ok()))
		return TL_PATCH_ATOMIC;
	/*
	 * The head is a store of its own, and must not end inside an instruction that threads may reach.
	 * At an odd address it takes the whole word's store; across two words there is none.
	 */
	if (len < 2 || (addr & 7) == 7 || ((addr & 1) && !tl_arch_atomic_ok()))
		return TL_PATCH_BYPASS;
	if (!one_insn && (!tl_insn_decode(&i, from, len, TL_INSN_64) || i.len < 2))
		return TL_PATCH_BYPASS;
	step->spin[0] = 0xeb; /* jmp . */
	step->spin[1] = 0xfe;
	step->spin_len = 2;
	return TL_PATCH_SPIN;
}

static void cpuid(uint32_t leaf, uint32_t *a, uint32_t *b, uint32_t *c, uint32_t *d)
{
	__asm__ volatile("cpuid" : "=a"(*a), "=b"(*b), "=c"(*c), "=d"(*d) : "a"(leaf), "c"(0));
}

static int8_t atomic; /* 0: not asked yet, 1: yes, -1: no */

/*
 * Known to fetch an aligned quadword whole: Intel since the P6, AMD since the
 * K8 (Hygon is one). Not promised by either manual; tests/engine/x86/rules
 * holds the evidence. Others take the longer ways.
 */
bool tl_arch_atomic_ok(void)
{
	uint32_t a, b, c, d;

	if (!atomic) {
		cpuid(0, &a, &b, &c, &d);
		atomic = b == 0x756e6547 || b == 0x68747541 || b == 0x6f677948 ? 1 : -1;
	}
	return atomic > 0;
}

void tl_arch_atomic_set(int how)
{
	atomic = (int8_t)how;
}

uint64_t tl_arch_cycles(void)
{
	uint32_t lo, hi;

	__asm__ volatile("rdtsc" : "=a"(lo), "=d"(hi));
	return (uint64_t)hi << 32 | lo;
}
