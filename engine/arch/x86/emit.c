/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/* The few instructions a detour is made of, as bytes. */
#include "x86.h"

void x86_bytes(struct x86_emit *e, const void *b, size_t n)
{
	const uint8_t *p = b;

	if (e->n + n > e->max) {
		e->err = -TL_E_LIMIT;
		return;
	}
	for (; n >= sizeof(uint64_t); n -= sizeof(uint64_t), p += sizeof(uint64_t)) {
		__builtin_memcpy(e->buf + e->n, p, sizeof(uint64_t));
		e->n += sizeof(uint64_t);
	}
	while (n--)
		e->buf[e->n++] = *p++;
}

static void put32(struct x86_emit *e, size_t pos, uint32_t v)
{
	if (pos + 4 > e->max)
		return; /* the error is noted already */
	for (int i = 0; i < 4; i++)
		e->buf[pos + (size_t)i] = (uint8_t)(v >> (8 * i));
}

void x86_rel32(struct x86_emit *e, uintptr_t target)
{
	int64_t rel = (int64_t)(target - (e->at + e->n + 4));

	if (rel != (int32_t)rel)
		e->err = -TL_E_OUT_OF_REACH;
	x86_u32(e, (uint32_t)rel);
}

void x86_lit32(struct x86_emit *e, uint64_t value)
{
	if (e->nlit == sizeof(e->lit) / sizeof(e->lit[0])) {
		e->err = -TL_E_LIMIT;
		return;
	}
	e->lit[e->nlit].fix = e->n;
	e->lit[e->nlit++].value = value;
	x86_u32(e, 0);
}

void x86_finish(struct x86_emit *e)
{
	if (!e->nlit)
		return;
	while ((e->at + e->n) & 7 && !e->err)
		x86_byte(e, 0xcc);
	for (unsigned i = 0; i < e->nlit; i++) {
		put32(e, e->lit[i].fix, (uint32_t)(e->n - (e->lit[i].fix + 4)));
		x86_put(e, e->lit[i].value, 8);
	}
}

void x86_mark(struct x86_emit *e, bool entry, uintptr_t text)
{
	struct x86_marks *m = e->marks;

	if (!m)
		return;
	if (m->n == X86_MARKS_MAX) {
		e->err = -TL_E_LIMIT;
		return;
	}
	m->mark[m->n++] = (struct x86_mark){.off = (uint16_t)e->n, .entry = entry, .text = text};
}

void x86_label_here(struct x86_emit *e, struct x86_label *l)
{
	l->placed = true;
	l->pos = (uint16_t)e->n;
	for (unsigned i = 0; i < l->nfix; i++)
		put32(e, l->fix[i], (uint32_t)(e->n - (l->fix[i] + 4)));
}

static void label32(struct x86_emit *e, struct x86_label *l)
{
	if (l->placed) {
		x86_u32(e, (uint32_t)(l->pos - (e->n + 4)));
		return;
	}
	if (l->nfix == X86_FIX_MAX) {
		e->err = -TL_E_LIMIT;
		return;
	}
	l->fix[l->nfix++] = (uint16_t)e->n;
	x86_u32(e, 0);
}

void x86_jmp_label(struct x86_emit *e, struct x86_label *l)
{
	x86_byte(e, 0xe9);
	label32(e, l);
}

void x86_jcc_label(struct x86_emit *e, uint8_t cond, struct x86_label *l)
{
	x86_put(e, 0x0f | (0x80u | cond) << 8, 2);
	label32(e, l);
}

/* REX.W, opcode, ModRM of dst and disp32(%rip), whose displacement comes next. */
void x86_rip(struct x86_emit *e, uint8_t op, enum x86_reg dst)
{
	unsigned rex = 0x48 | (dst >> 3) << 2, modrm = 0x05 | (dst & 7) << 3;

	x86_put(e, rex | (unsigned)op << 8 | modrm << 16, 3);
}

void x86_lea_label(struct x86_emit *e, enum x86_reg dst, struct x86_label *l)
{
	x86_rip(e, 0x8d, dst);
	label32(e, l);
}

void x86_jmp_to(struct x86_emit *e, uintptr_t target)
{
	x86_byte(e, 0xe9);
	x86_rel32(e, target);
}

void x86_jcc_to(struct x86_emit *e, uint8_t cond, uintptr_t target)
{
	x86_put(e, 0x0f | (0x80u | cond) << 8, 2);
	x86_rel32(e, target);
}

void x86_mem(struct x86_emit *e, uint8_t op, enum x86_reg reg, enum x86_reg base, int32_t disp)
{
	bool small = disp == (int8_t)disp, sib = (base & 7) == RSP;
	unsigned rex = 0x48 | (reg >> 3) << 2 | base >> 3;
	unsigned modrm = (small ? 0x40u : 0x80u) | (reg & 7) << 3 | (base & 7);
	uint64_t v = rex | (unsigned)op << 8 | modrm << 16 | (sib ? 0x24u << 24 : 0);

	x86_put(e, v | (uint64_t)(uint32_t)disp << (sib ? 32 : 24), 3u + sib + (small ? 1 : 4));
}

void x86_mov(struct x86_emit *e, enum x86_reg dst, enum x86_reg src)
{
	unsigned rex = 0x48 | (src >> 3) << 2 | dst >> 3, modrm = 0xc0 | (src & 7) << 3 | (dst & 7);

	x86_put(e, rex | 0x89 << 8 | modrm << 16, 3);
}

void x86_imm64(struct x86_emit *e, enum x86_reg dst, uint64_t v)
{
	unsigned b = dst >> 3, op = 0xb8 | (dst & 7);

	if (v <= UINT32_MAX && !e->longest) {
		if (b)
			x86_byte(e, 0x41);
		x86_put(e, op | v << 8, 5);
		return;
	}
	x86_put(e, 0x48 | b | op << 8, 2);
	x86_put(e, v, 8);
}
