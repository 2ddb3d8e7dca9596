/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/* The few instructions a detour is made of, as bytes. */
#include "x86.h"

void x86_bytes(struct x86_emit *e, const void *b, size_t n)
{
	if (e->n + n > e->max) {
		e->err = -TL_E_LIMIT;
		return;
	}
	__builtin_memcpy(e->buf + e->n, b, n);
	e->n += n;
}

void x86_put_at(struct x86_emit *e, size_t pos, uint64_t v, unsigned n)
{
	if (pos + n > e->max)
		return; /* the error is noted already */
	if (n == sizeof(uint32_t))
		__builtin_memcpy(e->buf + pos, &v, sizeof(uint32_t));
	else
		__builtin_memcpy(e->buf + pos, &v, sizeof(v));
}

enum x86_form x86_form(const struct x86_emit *e, uintptr_t address)
{
	int64_t rel = (int64_t)(address - e->at);

	if (e->longest)
		return X86_ABS64;
	if (rel > INT32_MIN + TL_DETOUR_MAX && rel < INT32_MAX - TL_DETOUR_MAX)
		return X86_REL32;
	return address <= UINT32_MAX ? X86_ABS32 : X86_ABS64;
}

/* The bytes to come name an address. */
static void note_ref(struct x86_emit *e, uintptr_t address, enum x86_form form)
{
	struct x86_refs *r = e->refs;
	unsigned name = 0;

	if (!r)
		return;
	while (name < X86_NAMES_MAX && r->names[name] != address)
		name++;
	if (name == X86_NAMES_MAX || r->n == X86_REFS_MAX) {
		e->err = -TL_E_LIMIT;
		return;
	}
	r->ref[r->n].at = (uint16_t)e->n;
	r->ref[r->n].name = (uint8_t)name;
	r->ref[r->n++].form = (uint8_t)form;
}

/* The displacement at `from` leads to `to`. */
static void note_cross(struct x86_emit *e, size_t from, size_t to)
{
	struct x86_refs *r = e->refs;

	if (!r || !r->split || (from < r->split) == (to < r->split))
		return;
	if (r->ncross == X86_REFS_MAX)
		e->err = -TL_E_LIMIT;
	else
		r->cross[r->ncross++] = (uint16_t)from;
}

void x86_rel32(struct x86_emit *e, uintptr_t target)
{
	int64_t rel = (int64_t)(target - (e->at + e->n + 4));

	if (rel != (int32_t)rel)
		e->err = -TL_E_OUT_OF_REACH;
	note_ref(e, target, X86_REL32);
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
		x86_put_at(e, e->lit[i].fix, e->n - (e->lit[i].fix + 4), 4);
		x86_put(e, e->lit[i].value, 8);
	}
}

void x86_mark(struct x86_emit *e, enum tl_place what, uintptr_t text)
{
	struct x86_marks *m = e->marks;

	if (!m)
		return;
	if (m->n == X86_MARKS_MAX) {
		e->err = -TL_E_LIMIT;
		return;
	}
	m->mark[m->n++] =
		(struct x86_mark){.off = (uint16_t)e->n, .what = (uint8_t)what, .text = text};
}

void x86_label_here(struct x86_emit *e, struct x86_label *l)
{
	l->placed = true;
	l->pos = (uint16_t)e->n;
	for (unsigned i = 0; i < l->nfix; i++) {
		x86_put_at(e, l->fix[i], e->n - (l->fix[i] + 4u), 4);
		note_cross(e, l->fix[i], e->n);
	}
}

static void label32(struct x86_emit *e, struct x86_label *l)
{
	if (l->placed) {
		note_cross(e, e->n, l->pos);
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
		x86_byte(e, (uint8_t)op);
		note_ref(e, v, X86_ABS32);
		x86_u32(e, (uint32_t)v);
		return;
	}
	x86_put(e, 0x48 | b | op << 8, 2);
	note_ref(e, v, X86_ABS64);
	x86_put(e, v, 8);
}

void x86_address(struct x86_emit *e, enum x86_reg dst, uintptr_t address)
{
	if (x86_form(e, address) != X86_REL32) {
		x86_imm64(e, dst, address);
		return;
	}
	x86_rip(e, 0x8d, dst);
	x86_rel32(e, address);
}
