/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
#include "../../core/base/broken.h"
#include "../../core/base/mem.h"
#include "../../core/detour/site.h"
#include "../../core/detour/thread.h"
#include "toy.h"

enum { JUMP = 5, WORD = 8 };

const size_t tl_arch_near = 256, tl_arch_word = WORD;
const int tl_arch_call_pushes = sizeof(uintptr_t);
const unsigned tl_arch_rungs =
	1 << TL_RUNG_RETARGET | 1 << TL_RUNG_WHOLE | 1 << TL_RUNG_WINDOW | 1 << TL_RUNG_TRAP;

/* --- instructions --------------------------------------------------------- */

unsigned toy_len(uint8_t op)
{
	static const uint8_t len[] = {0, 1, 2, 6, 5, 2, 5, 1, 2, 2, 1, 2, 3, 1, 5};

	if (op >= TOY_HIT && op <= TOY_PUSH)
		return 9;
	return op < sizeof(len) ? len[op] : 0;
}

uint64_t toy_word(const uint8_t *p)
{
	uint64_t v = 0;

	for (unsigned i = 0; i < 8; i++)
		v |= (uint64_t)p[i] << (8 * i);
	return v;
}

static uint8_t *put_word(uint8_t *p, uint8_t op, uint64_t v)
{
	*p++ = op;
	for (unsigned i = 0; i < 8; i++)
		*p++ = (uint8_t)(v >> (8 * i));
	return p;
}

int32_t toy_rel(const uint8_t *i)
{
	if (i[0] == TOY_JNZ || i[0] == TOY_SHORT)
		return (int8_t)i[1];
	return (int32_t)((uint32_t)i[1] | (uint32_t)i[2] << 8 | (uint32_t)i[3] << 16 |
			 (uint32_t)i[4] << 24);
}

static void put_rel32(uint8_t *p, uintptr_t next, uintptr_t target)
{
	uint32_t rel = (uint32_t)(target - next);

	for (unsigned i = 0; i < 4; i++)
		p[i] = (uint8_t)(rel >> (8 * i));
}

static bool branches(uint8_t op)
{
	return op == TOY_JMP || op == TOY_JNZ || op == TOY_SHORT;
}

static bool ends(uint8_t op)
{
	return op == TOY_JMP || op == TOY_SHORT || op == TOY_JMPI || op == TOY_RET ||
	       op == TOY_SWITCH;
}

static uintptr_t target_of(const uint8_t *i, uintptr_t at)
{
	return at + toy_len(i[0]) + (uintptr_t)(intptr_t)toy_rel(i);
}

/* --- walking a function ------------------------------------------------------ */

static bool bit(const uint8_t *map, size_t i)
{
	return map[i / 8] >> (i % 8) & 1;
}

static void set(uint8_t *map, size_t i)
{
	map[i / 8] |= (uint8_t)(1 << (i % 8));
}

int tl_arch_code_walk(struct tl_code *c)
{
	size_t i = 0;

	for (i = 0; i < c->npads; i++)
		if (c->pads[i] - c->start < c->size)
			set(c->target, c->pads[i] - c->start);
	for (i = 0; i < c->size;) {
		const uint8_t *insn = c->text + i;
		unsigned len = toy_len(insn[0]);

		if (!len || insn[0] >= TOY_HIT || i + len > c->size)
			return -TL_E_BAD_INSN;
		set(c->boundary, i);
		if (branches(insn[0])) {
			uintptr_t off = target_of(insn, c->start + i) - c->start;

			if (off < c->size)
				set(c->target, off);
		}
		if (insn[0] == TOY_JMPI || insn[0] == TOY_SWITCH)
			c->indirect = true;
		i += len;
	}
	c->complete = true;
	return 0;
}

size_t tl_arch_code_reached(const struct tl_code *c, size_t known)
{
	(void)c;
	return known;
}

int64_t tl_arch_syscall_number(const uint8_t *text, size_t size)
{
	(void)text;
	(void)size;
	return -1;
}

void tl_arch_code_leaves(
	const struct tl_code *c, void (*fn)(void *arg, uintptr_t target), void *arg)
{
	for (size_t i = 0; i < c->size && bit(c->boundary, i); i += toy_len(c->text[i])) {
		uintptr_t t = target_of(c->text + i, c->start + i);

		if (branches(c->text[i]) && t - c->start >= c->size)
			fn(arg, t);
	}
}

/* No instruction takes an address. */
void tl_arch_code_names(const struct tl_code *c, void (*fn)(void *arg, uintptr_t at), void *arg)
{
	(void)c;
	(void)fn;
	(void)arg;
}

void tl_arch_wide_calls(const uint8_t *text, size_t size, uintptr_t addr,
	void (*fn)(void *arg, uintptr_t from, uintptr_t target), void *arg)
{
	(void)text;
	(void)size;
	(void)addr;
	(void)fn;
	(void)arg;
}

void tl_arch_wide_jumps(const uint8_t *text, size_t size, uintptr_t addr,
	void (*fn)(void *arg, uintptr_t target), void (*table)(void *arg, uintptr_t base),
	void *arg)
{
	for (size_t i = 0; i < size; i++)
		if (text[i] == TOY_JMP)
			fn(arg, target_of(text + i, addr + i));
		else if (text[i] == TOY_SWITCH)
			table(arg, target_of(text + i, addr + i));
}

/* Words of 32 bits, relative to the table. */
size_t tl_arch_table_targets(uintptr_t base, size_t size, uintptr_t lo, uintptr_t hi,
	size_t (*read)(uintptr_t addr, void *buf, size_t len),
	void (*fn)(void *arg, uintptr_t target), void *arg)
{
	size_t n = 0;
	int32_t v;

	for (; n * sizeof(v) < size && read(base + n * sizeof(v), &v, sizeof(v)) == sizeof(v);
		n++) {
		uintptr_t to = base + (uintptr_t)(intptr_t)v;

		if (to < lo || to >= hi)
			break;
		if (fn)
			fn(arg, to);
	}
	return n;
}

int tl_arch_can_probe(const struct tl_code *c, uintptr_t addr)
{
	size_t i = addr - c->start;

	if (i >= c->size || !bit(c->boundary, i))
		return -TL_E_NOT_BOUNDARY;
	return c->text[i] == TOY_FIXED ? -TL_E_NO_RELOCATE : 0;
}

/* --- planning ---------------------------------------------------------------------- */

typedef bool (*claimed_fn)(void *arg, uintptr_t lo, uintptr_t hi);

static void place(struct tl_plan *p, unsigned rung, uintptr_t start, size_t len, size_t changed)
{
	p->rung = (uint8_t)rung;
	p->start = start;
	p->len = (uint8_t)len;
	p->changed = (uint8_t)changed;
	p->reach_lo = 0;
	p->reach_hi = UINTPTR_MAX;
}

/* Is [lo, hi) (offsets) a run of instructions that may be moved away together? */
static int window_ok(const struct tl_code *c, size_t lo, size_t hi)
{
	if (!c->complete)
		return -TL_E_BAD_INSN;
	if (c->indirect)
		return -TL_E_INDIRECT;
	for (size_t i = lo; i < hi; i += toy_len(c->text[i])) {
		uint8_t op = c->text[i];

		if (i > lo && bit(c->target, i))
			return -TL_E_BRANCH_INTO;
		if (op == TOY_FIXED)
			return -TL_E_NO_RELOCATE;
		if (i + toy_len(op) < hi && (ends(op) || op == TOY_CALL))
			return -TL_E_TOO_SHORT;
	}
	return 0;
}

static int plan_window(struct tl_plan *p, const struct tl_code *c, claimed_fn claimed, void *arg)
{
	size_t lo = p->points[0].addr - c->start, last = p->points[p->npoints - 1].addr - c->start;
	size_t hi = lo;
	int ret;

	while (hi < c->size && (hi <= last || hi - lo < JUMP))
		hi += toy_len(c->text[hi]);
	while (hi - lo < JUMP && hi < c->size + c->after && c->text[hi] == TOY_NOP)
		hi++; /* padding */
	if (hi <= last || hi - lo < JUMP)
		return -TL_E_TOO_SHORT;
	if (hi - lo > TL_PATCH_MAX)
		return -TL_E_NEIGHBOUR;
	ret = window_ok(c, lo, hi < c->size ? hi : c->size);
	if (!ret && claimed(arg, c->start + lo, c->start + hi))
		ret = -TL_E_NEIGHBOUR;
	if (!ret)
		place(p, TL_RUNG_WINDOW, c->start + lo, hi - lo, JUMP);
	return ret;
}

static int single(
	struct tl_plan *p, const struct tl_code *c, unsigned rung, claimed_fn claimed, void *arg)
{
	uintptr_t addr = p->points[0].addr;
	uint8_t op = c->text[addr - c->start];
	unsigned len = toy_len(op);

	if (p->npoints > 1 || claimed(arg, addr, addr + len))
		return -TL_E_NEIGHBOUR;
	if (rung == TL_RUNG_RETARGET && op != TOY_CALL)
		return -TL_E_NO_RELOCATE;
	if (rung == TL_RUNG_RETARGET && p->points[0].post)
		return -TL_E_POST_HANDLER;
	if (rung == TL_RUNG_WHOLE && len < JUMP)
		return -TL_E_TOO_SHORT;
	place(p, rung, addr, len, rung == TL_RUNG_TRAP ? 1 : JUMP);
	return 0;
}

static int descend(struct tl_plan *p, const struct tl_code *c, unsigned allowed, claimed_fn claimed,
	void *arg, unsigned i)
{
	static const uint8_t order[] = {
		TL_RUNG_RETARGET, TL_RUNG_WHOLE, TL_RUNG_WINDOW, TL_RUNG_TRAP};
	int ret = -TL_E_TRAP_FORBIDDEN;

	for (; i < sizeof(order); i++) {
		p->step = (uint8_t)i;
		if (!(allowed & 1u << order[i]))
			continue;
		if (order[i] == TL_RUNG_WINDOW)
			ret = plan_window(p, c, claimed, arg);
		else
			ret = single(p, c, order[i], claimed, arg);
		if (!ret)
			return 0;
		p->why[order[i]] = ret;
	}
	return ret;
}

int tl_arch_plan(struct tl_plan *p, const struct tl_code *c, unsigned allowed,
	const struct tl_ground *ground)
{
	return descend(p, c, allowed, ground->claimed, ground->arg, 0);
}

int tl_arch_plan_next(struct tl_plan *p, const struct tl_code *c, unsigned allowed,
	const struct tl_ground *ground)
{
	return descend(p, c, allowed, ground->claimed, ground->arg, p->step + 1u);
}

int tl_arch_plan_moved(
	const struct tl_plan *plan, uintptr_t at, const struct tl_code *code, struct tl_plan *moved)
{
	(void)plan;
	(void)at;
	(void)code;
	(void)moved;
	return -TL_E_NO_MOVE;
}

size_t tl_arch_trap_insn(uint8_t *buf)
{
	buf[0] = TOY_TRAP;
	return 1;
}

size_t tl_arch_switch(uintptr_t at, uintptr_t target, uint8_t *nop, uint8_t *jump)
{
	if (at / WORD != (at + JUMP - 1) / WORD)
		return 0;
	if (nop) { /* a jump behind itself */
		nop[0] = TOY_JMP;
		put_rel32(nop + 1, 0, 0);
	}
	if (jump) {
		jump[0] = TOY_JMP;
		put_rel32(jump + 1, at + JUMP, target);
	}
	return JUMP;
}

/* --- detours ---------------------------------------------------------------------------- */

static const struct tl_point *point_at(const struct tl_plan *p, uintptr_t addr)
{
	for (unsigned i = 0; i < p->npoints; i++)
		if (p->points[i].addr == addr)
			return &p->points[i];
	return NULL;
}

static uint8_t *relocate(uint8_t *out, const uint8_t *insn, uintptr_t at)
{
	uintptr_t target = target_of(insn, at);

	switch (insn[0]) {
	case TOY_JMP:
	case TOY_SHORT:
		return put_word(out, TOY_GO, target);
	case TOY_JNZ:
		return put_word(out, TOY_GONZ, target);
	case TOY_CALL:
		out = put_word(out, TOY_PUSH, at + toy_len(TOY_CALL));
		return put_word(out, TOY_GO, target);
	}
	tl_copy(out, insn, toy_len(insn[0]));
	return out + toy_len(insn[0]);
}

static uint8_t *put_call(
	uint8_t *out, uint8_t op, const struct tl_plan *plan, const struct tl_point *p)
{
	return put_word(out, op, (uintptr_t)p->site | tl_plan_gives(plan));
}

/* Builds; with find != 0 also tells where that original address went (*found). */
static int build(const struct tl_plan *p, uint8_t *buf, uintptr_t find, size_t *found)
{
	uint8_t *out = buf;

	if (p->rung == TL_RUNG_RETARGET) {
		out = put_call(out, TOY_HIT, p, &p->points[0]);
		out = put_word(out, TOY_GO, target_of(p->orig, p->start));
		return (int)(out - buf);
	}
	for (unsigned i = 0; i < p->len; i += toy_len(p->orig[i])) {
		const struct tl_point *pt = point_at(p, p->start + i);

		if (found && p->start + i == find)
			*found = (size_t)(out - buf);
		if (pt)
			out = put_call(out, TOY_HIT, p, pt);
		out = relocate(out, p->orig + i, p->start + i);
		if (pt && pt->post)
			out = put_call(out, TOY_POST, p, pt);
	}
	out = put_word(out, TOY_GO, p->start + p->len);
	return (int)(out - buf);
}

int tl_arch_detour_build(
	const struct tl_plan *p, const struct tl_detour_env *env, uintptr_t at, uint8_t *buf)
{
	(void)env;
	(void)at;
	return build(p, buf, 0, NULL);
}

size_t tl_arch_detour_bound(const struct tl_plan *p)
{
	return p->len * 18u + p->npoints * 18u + 9;
}

uintptr_t tl_arch_ip_to_text(
	const struct tl_plan *p, const struct tl_detour_env *env, uintptr_t at, uintptr_t ip)
{
	(void)p;
	(void)env;
	(void)at;
	(void)ip;
	return 0;
}

uintptr_t tl_arch_ip_to_detour(
	const struct tl_plan *p, const struct tl_detour_env *env, uintptr_t at, uintptr_t ip)
{
	uint8_t buf[TL_DETOUR_MAX];
	size_t off = SIZE_MAX;

	(void)env;
	if (p->rung == TL_RUNG_RETARGET)
		return 0; /* its detour stands behind the call */
	build(p, buf, ip, &off);
	return off == SIZE_MAX ? 0 : at + off;
}

/* --- returns ---------------------------------------------------------------------------- */

static bool in_parts(const struct tl_func_part *parts, size_t n, uintptr_t addr)
{
	for (size_t i = 0; i < n; i++)
		if (addr - parts[i].start < parts[i].size)
			return true;
	return false;
}

int tl_arch_exits(const struct tl_code *c, const struct tl_func_part *parts, size_t nparts,
	uintptr_t entry, struct tl_exit *exits, size_t max)
{
	size_t n = 0;

	if (max)
		exits[0].addr = 0;
	for (size_t i = 0; max && c->complete && i < c->size; i += toy_len(c->text[i]))
		if (c->text[i] == TOY_JMPI)
			exits[0].addr = c->start + i;
	if (!c->complete || c->indirect)
		return -TL_E_NO_EXIT;
	for (size_t i = 0; i < c->size; i += toy_len(c->text[i])) {
		uint8_t op = c->text[i], kind = TL_EXIT_RETURN;

		if (branches(op)) {
			uintptr_t to = target_of(c->text + i, c->start + i);

			if (to != entry && in_parts(parts, nparts, to))
				continue;
			kind = op == TOY_JNZ ? TL_EXIT_TAIL_COND : TL_EXIT_TAIL;
		} else if (op != TOY_RET) {
			continue;
		}
		if (n < max)
			exits[n] = (struct tl_exit){.addr = c->start + i,
				.kind = kind,
				.target = branches(op) ? target_of(c->text + i, c->start + i) : 0};
		n++;
	}
	return (int)n;
}

/* Computed jumps are not among its exits, and it has no linkage tables. */
void tl_arch_exit_by(struct tl_exit *exit, unsigned reg)
{
	exit->port[0] = (uint8_t)reg;
}

uintptr_t tl_arch_exit_target(const struct tl_exit *exit, const struct tl_regs *regs)
{
	(void)exit;
	(void)regs;
	return 0;
}

uintptr_t tl_arch_stub_slot(const uint8_t *text, size_t len, uintptr_t addr)
{
	(void)text;
	(void)len;
	(void)addr;
	return 0;
}

int64_t tl_arch_stub_unbound(const uint8_t *text, size_t len)
{
	(void)text;
	(void)len;
	return -1;
}

/* Three arguments in registers, two on the stack. */
typedef void toy_fn(uintptr_t a, uintptr_t b, uintptr_t c, uintptr_t d, uintptr_t e);

void tl_arch_call_args(void (*fn)(void), const struct tl_regs *regs, size_t stack, bool vectors)
{
	uintptr_t at = TL_REGS_SP(regs) + sizeof(uintptr_t), more[2] = {0, 0};

	(void)vectors;
	for (size_t i = 0; i < 2 && i < stack / sizeof(uintptr_t); i++)
		more[i] = ((const uintptr_t *)at)[i];
#if defined(__x86_64__)
	((toy_fn *)fn)(regs->ax, regs->cx, regs->dx, more[0], more[1]);
#else
	((toy_fn *)fn)(regs->gpr[0], regs->gpr[1], regs->gpr[2], more[0], more[1]);
#endif
}

void tl_arch_call_args_init(void)
{
}

bool tl_arch_cond_holds(uint8_t cond, const struct tl_regs *regs)
{
	(void)cond;
#if defined(__x86_64__)
	return regs->ax != 0;
#else
	return regs->gpr[0] != 0;
#endif
}

/* --- small stacks: the toy has none ------------------------------------------------------- */

void tl_arch_stack_use(const uint8_t *text, size_t size, uintptr_t addr, struct tl_stack_use *use,
	void (*fn)(void *arg, uint32_t at, uintptr_t target, bool call), void *arg)
{
	(void)text;
	(void)size;
	(void)addr;
	(void)fn;
	(void)arg;
	*use = (struct tl_stack_use){.depth = 0};
}

bool tl_arch_is_return(const struct tl_code *code, uintptr_t addr)
{
	(void)code;
	(void)addr;
	return false;
}

int tl_arch_stack_taken(bool first)
{
	(void)first;
	return 0;
}

/* --- text -------------------------------------------------------------------------------- */

void tl_arch_patch_bytes(const struct tl_plan *p, uintptr_t at, uint8_t *buf)
{
	buf[0] = p->rung == TL_RUNG_RETARGET ? TOY_CALL : TOY_JMP;
	put_rel32(buf + 1, p->start + JUMP, at);
}

enum tl_patch_how tl_arch_patch_how(uintptr_t addr, const uint8_t *from, const uint8_t *to,
	size_t len, bool one_insn, struct tl_patch_step *step)
{
	size_t lo = 0, hi = len;

	while (lo < hi && from[lo] == to[lo])
		lo++;
	while (hi > lo && from[hi - 1] == to[hi - 1])
		hi--;
	step->word = (addr + lo) & ~(uintptr_t)(WORD - 1);
	if (lo + 1 >= hi || (tl_arch_atomic_ok() && addr + hi <= step->word + WORD))
		return TL_PATCH_ATOMIC;
	if (one_insn && !(addr & 1)) {
		step->spin[0] = TOY_SHORT;
		step->spin[1] = 0xfe;
		step->spin_len = 2;
		return TL_PATCH_SPIN;
	}
	return one_insn ? TL_PATCH_BYPASS : TL_PATCH_STOP;
}

bool tl_arch_call_stands(uintptr_t sp, uintptr_t ret_ip)
{
	return *(const uintptr_t *)sp == ret_ip;
}

static bool no_atomic;

bool tl_arch_atomic_ok(void)
{
	return !no_atomic;
}

void tl_arch_atomic_set(int how)
{
	no_atomic = how < 0;
}

uint64_t tl_arch_cycles(void)
{
	static uint64_t n;

	return n++;
}
