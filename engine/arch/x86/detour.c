/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/*
 * Detours: save, gate, look the thread up, guard, call, restore, then the
 * displaced instructions and the way back.
 *
 * A probed point's stack, from the interrupted stack pointer downwards: the
 * red zone, then struct tl_regs as a frame. Nothing below the frame matters,
 * so a signal may arrive anywhere.
 *
 * Flags go through lahf and seto, which is four times cheaper than pushf, but
 * leaves the direction flag as it is. C handlers need it clear. It is, by the
 * ABI, except between a std and its cld: a function that holds a std anywhere
 * (or that could not be decoded) gets pushf, cld and popf instead.
 */
#include "x86.h"
#include "../../core/internal.h"

#define R(field)   ((int32_t)offsetof(struct tl_regs, field))
#define FRAME	   ((int32_t)sizeof(struct tl_regs))
#define BELOW	   X86_BELOW
#define T(field)   ((int32_t)offsetof(struct tl_thread, field))
#define P(field)   ((int32_t)offsetof(struct tl_probe, field))
#define HASH_SHIFT (TL_THREAD_HASH_SHIFT - TL_THREAD_SHIFT)
#define HASH_MASK  ((TL_THREADS - 1) << TL_THREAD_SHIFT)

_Static_assert(TL_THREAD_HASH_MUL <= INT32_MAX, "imul's constant is signed");
_Static_assert(sizeof(struct tl_thread) == 1 << TL_THREAD_SHIFT, "an entry's size");
_Static_assert(offsetof(struct tl_gate, open) == 0, "the gate word is the gate");

enum { ALIGNMENT = 8 }; /* of constants, and what it may take */

enum cond { CC_B = 2, CC_E = 4, CC_NE = 5, CC_NS = 9 };

/* What all points of one detour have in common. */
struct shape {
	bool full, big, df, early, shadow_stack;
	int32_t pushed; /* bytes that the changed instruction has pushed itself: retargeted calls */
	bool diverts, moves;
	struct x86_label divert, move;
};

/* One call of a handler. */
struct call {
	const struct tl_point *point;
	uintptr_t ip; /* what regs->ip says; 0: what the stack's top says */
	int32_t pushed;
	bool post;
	struct x86_label slow, guarded, restore;
};

static const struct {
	uint8_t reg, off;
} clobbered[] =
	{
		{RCX, offsetof(struct tl_regs, cx)},
		{RDX, offsetof(struct tl_regs, dx)},
		{RSI, offsetof(struct tl_regs, si)},
		{RDI, offsetof(struct tl_regs, di)},
		{R8, offsetof(struct tl_regs, r8)},
		{R9, offsetof(struct tl_regs, r9)},
		{R10, offsetof(struct tl_regs, r10)},
		{R11, offsetof(struct tl_regs, r11)},
		{RBX, offsetof(struct tl_regs, bx)},
		{RBP, offsetof(struct tl_regs, bp)},
},
  preserved[] = {
	  {R12, offsetof(struct tl_regs, r12)},
	  {R13, offsetof(struct tl_regs, r13)},
	  {R14, offsetof(struct tl_regs, r14)},
	  {R15, offsetof(struct tl_regs, r15)},
};

#define COUNT(a) (sizeof(a) / sizeof((a)[0]))
#define OP(e, ...)                                                                                 \
	x86_put(e, packed((const uint8_t[]){__VA_ARGS__}, sizeof((const uint8_t[]){__VA_ARGS__})), \
		sizeof((const uint8_t[]){__VA_ARGS__}))

/* A constant, once compiled. */
static inline uint64_t packed(const uint8_t *bytes, size_t n)
{
	uint64_t v = 0;

	for (size_t i = 0; i < n; i++)
		v |= (uint64_t)bytes[i] << (8 * i);
	return v;
}

static void load(struct x86_emit *e, enum x86_reg dst, enum x86_reg base, int32_t off)
{
	x86_mem(e, 0x8b, dst, base, off);
}

static void store(struct x86_emit *e, enum x86_reg src, enum x86_reg base, int32_t off)
{
	x86_mem(e, 0x89, src, base, off);
}

static void lea(struct x86_emit *e, enum x86_reg dst, enum x86_reg base, int32_t off)
{
	x86_mem(e, 0x8d, dst, base, off);
}

/* Can an instruction here name it by a displacement? */
static bool in_reach(const struct x86_emit *e, uintptr_t address)
{
	const int64_t longest_insn = 15;
	int64_t rel = (int64_t)(address - (e->at + e->n));

	return !e->longest && rel > INT32_MIN + longest_insn && rel < INT32_MAX - longest_insn;
}

/* An instruction that names an address in reach: 8d lea, 8b load. */
static void with_address(struct x86_emit *e, uint8_t op, enum x86_reg dst, uintptr_t address)
{
	x86_rip(e, op, dst);
	x86_rel32(e, address);
}

static void load_address(struct x86_emit *e, enum x86_reg dst, uintptr_t address)
{
	if (in_reach(e, address))
		with_address(e, 0x8d, dst, address);
	else
		x86_imm64(e, dst, address);
}

static void load_at(struct x86_emit *e, enum x86_reg dst, uintptr_t address)
{
	if (in_reach(e, address)) {
		with_address(e, 0x8b, dst, address);
		return;
	}
	x86_imm64(e, dst, address);
	load(e, dst, dst, 0);
}

/* rax is lost where the gate is out of reach. */
static void test_gate(struct x86_emit *e, const struct tl_gate *gate)
{
	uintptr_t address = (uintptr_t)gate;

	if (!in_reach(e, address)) {
		x86_imm64(e, RAX, address);
		OP(e, 0x83, 0x38, 0); /* cmpl $0,(%rax) */
		return;
	}
	OP(e, 0x83, 0x3d); /* cmpl $0,gate(%rip) */
	x86_rel32(e, address - 1);
	x86_byte(e, 0);
}

/* rax is free afterwards, the flags are in the frame. */
static void save_flags(struct x86_emit *e, const struct shape *s)
{
	if (s->df) {
		OP(e, 0x9c); /* pushfq */
		OP(e, 0x8f, 0x44, 0x24,
			R(flags)); /* pop flags(%rsp): the address is taken after the pop */
		OP(e, 0xfc); /* cld */
		return;
	}
	OP(e, 0x0f, 0xb6, 0xcc); /* movzbl %ah,%ecx */
	OP(e, 0x0f, 0xb6, 0xc0); /* movzbl %al,%eax */
	OP(e, 0xc1, 0xe0, 11); /* shl $11,%eax */
	OP(e, 0x8d, 0x84, 0x01, 0x00, 0x02, 0x00, 0x00); /* lea 0x200(%rcx,%rax),%eax */
	store(e, RAX, RSP, R(flags));
}

/* The registers of the frame stored (89) or loaded (8b): the same bytes in every detour. */
static void all_regs(struct x86_emit *e, uint8_t op, bool full)
{
	static struct {
		uint8_t code[8 * (COUNT(clobbered) + COUNT(preserved))];
		size_t n;
	} once[2][2];
	uint8_t *code = once[op == 0x89][full].code;
	size_t n = once[op == 0x89][full].n;

	if (!n) {
		struct x86_emit made = {.buf = code, .max = sizeof(once[0][0].code)};

		for (size_t i = 0; i < COUNT(clobbered); i++)
			x86_mem(&made, op, clobbered[i].reg, RSP, clobbered[i].off);
		for (size_t i = 0; full && i < COUNT(preserved); i++)
			x86_mem(&made, op, preserved[i].reg, RSP, preserved[i].off);
		n = once[op == 0x89][full].n = made.n;
	}
	x86_bytes(e, code, n);
}

static void save(struct x86_emit *e, const struct shape *s, const struct call *c)
{
	lea(e, RSP, RSP, -BELOW);
	store(e, RAX, RSP, R(ax));
	if (!s->df)
		OP(e, 0x9f, 0x0f, 0x90, 0xc0); /* lahf; seto %al */
	all_regs(e, 0x89, s->full);
	save_flags(e, s);
	lea(e, RSI, RSP, BELOW + c->pushed);
	store(e, RSI, RSP, R(sp));
	if (c->ip)
		load_address(e, RAX, c->ip);
	else
		load(e, RAX, RSP, BELOW);
	store(e, RAX, RSP, R(ip));
}

/* Everything back but the stack pointer. */
static void load_state(struct x86_emit *e, const struct shape *s)
{
	if (s->df) {
		OP(e, 0xff, 0x74, 0x24, R(flags)); /* push flags(%rsp) */
		OP(e, 0x9d); /* popfq */
	} else {
		OP(e, 0x8a, 0x44, 0x24, R(flags) + 1); /* mov flags+1(%rsp),%al */
		OP(e, 0x24, 0x08); /* and $8,%al: the overflow flag's bit */
		OP(e, 0x04, 0x78); /* add $0x78,%al: overflows if it is set */
		OP(e, 0x8a, 0x64, 0x24, R(flags)); /* mov flags(%rsp),%ah */
		OP(e, 0x9e); /* sahf */
	}
	all_regs(e, 0x8b, s->full);
	load(e, RAX, RSP, R(ax));
}

static void load_key(struct x86_emit *e, const struct tl_detour_env *env)
{
	x86_byte(e, env->percpu_key ? 0x65 : 0x64); /* gs, fs */
	OP(e, 0x48, 0x8b, 0x14, 0x25); /* mov disp32,%rdx */
	x86_u32(e, env->percpu_key ? (uint32_t)env->key_at : 0);
}

/* eax = the record's. A kernel's thread pointer is not in a segment register. */
static void compare_tid(struct x86_emit *e, const struct tl_detour_env *env)
{
	if (env->percpu_key)
		OP(e, 0x3b, 0x82); /* cmp tid_offset(%rdx),%eax */
	else
		OP(e, 0x64, 0x3b, 0x04, 0x25); /* cmp %fs:tid_offset,%eax */
	x86_u32(e, (uint32_t)env->tid_offset);
}

/* The thread's record to rbx; rdx = key, rsi = interrupted sp, rbp = frame. */
static void look_up(
	struct x86_emit *e, const struct shape *s, const struct tl_detour_env *env, struct call *c)
{
	x86_mov(e, RBP, RSP);
	if (s->early && !env->fast_key) {
		OP(e, 0x31, 0xd2); /* xor %edx,%edx */
		x86_jmp_label(e, &c->slow);
		return;
	}
	if (s->early) {
		OP(e, 0xf3, 0x48, 0x0f, 0xae, 0xc2); /* rdfsbase %rdx */
		OP(e, 0x48, 0x85, 0xd2); /* test %rdx,%rdx: no thread pointer yet, */
		x86_jcc_label(e, CC_E, &c->slow); /* and a free entry's key is 0 too */
	} else {
		load_key(e, env);
	}
	OP(e, 0x48, 0x69, 0xca); /* imul $,%rdx,%rcx */
	x86_u32(e, TL_THREAD_HASH_MUL);
	OP(e, 0x48, 0xc1, 0xe9, HASH_SHIFT); /* shr $,%rcx */
	OP(e, 0x81, 0xe1); /* and $,%ecx */
	x86_u32(e, HASH_MASK);
	load_address(e, RBX, (uintptr_t)env->threads);
	OP(e, 0x48, 0x01, 0xcb); /* add %rcx,%rbx */
	x86_mem(e, 0x39, RDX, RBX, T(key));
	x86_jcc_label(e, CC_NE, &c->slow);
	OP(e, 0x48, 0x83, 0x7b, T(guard), 0); /* cmpq $0,guard(%rbx) */
	x86_jcc_label(e, CC_NE, &c->slow);
	if (!env->tid_offset)
		return;
	OP(e, 0x8b, 0x43, T(tid)); /* mov tid(%rbx),%eax */
	compare_tid(e, env);
	x86_jcc_label(e, CC_NE, &c->slow);
}

/* rbx = record with its guard set. */
static void call_handler(struct x86_emit *e, const struct shape *s, const struct call *c)
{
	load_at(e, RDI, (uintptr_t)c->point->site + offsetof(struct tl_site, current));
	x86_mov(e, RSI, RBP);
	x86_mov(e, RDX, RBX);
	if (s->big)
		load(e, RSP, RBX, T(stack));
	OP(e, 0x48, 0x83, 0xe4, 0xf0); /* and $-16,%rsp */
	OP(e, 0xff, 0x57, c->post ? P(post) : P(pre)); /* call *pre(%rdi) */
	x86_mov(e, RSP, RBP);
	OP(e, 0x48, 0xc7, 0x43, T(guard), 0, 0, 0, 0); /* movq $0,guard(%rbx) */
}

static void after_call(struct x86_emit *e, struct shape *s, struct call *c)
{
	if (!c->post) {
		OP(e, 0x85, 0xc0); /* test %eax,%eax */
		x86_jcc_label(e, CC_NE, &s->divert);
		s->diverts = true;
	}
	if (s->full && c->pushed == s->pushed) { /* a changed stack pointer */
		x86_lea_label(e, R10, &c->restore);
		lea(e, RCX, RSP, BELOW + c->pushed);
		x86_mem(e, 0x3b, RCX, RSP, R(sp));
		x86_jcc_label(e, CC_NE, &s->move);
		s->moves = true;
	}
}

static void handler(
	struct x86_emit *e, struct shape *s, const struct tl_detour_env *env, struct call *c)
{
	save(e, s, c);
	test_gate(e, env->gate);
	x86_jcc_label(e, CC_E, &c->restore);
	look_up(e, s, env, c);
	if (s->big) {
		OP(e, 0x48, 0x83, 0x7b, T(stack), 0); /* cmpq $0,stack(%rbx) */
		x86_jcc_label(e, CC_E, &c->slow);
	}
	store(e, RSI, RBX, T(guard));
	x86_label_here(e, &c->guarded);
	call_handler(e, s, c);
	after_call(e, s, c);
	x86_label_here(e, &c->restore);
	load_state(e, s);
	lea(e, RSP, RSP, BELOW);
}

/* The C function that finds, makes or refuses a record. */
static void slow_path(struct x86_emit *e, const struct tl_detour_env *env, struct call *c)
{
	x86_label_here(e, &c->slow);
	if (!env->enter_slow) {
		x86_jmp_label(e, &c->restore);
		return;
	}
	load_address(e, RDI, (uintptr_t)c->point->site);
	load_address(e, RAX, (uintptr_t)env->enter_slow);
	OP(e, 0x48, 0x83, 0xe4, 0xf0); /* and $-16,%rsp */
	OP(e, 0xff, 0xd0); /* call *%rax */
	x86_mov(e, RSP, RBP);
	OP(e, 0x48, 0x85, 0xc0); /* test %rax,%rax */
	x86_jcc_label(e, CC_E, &c->restore);
	x86_mov(e, RBX, RAX);
	load(e, RSI, RBP, R(sp));
	store(e, RSI, RBX, T(guard));
	x86_jmp_label(e, &c->guarded);
}

/* To `none` where this thread has no shadow stack; rax: its newest entry. */
static void shadow_top(struct x86_emit *e, struct x86_label *none)
{
	OP(e, 0x31, 0xc0); /* xor %eax,%eax */
	OP(e, 0xf3, 0x48, 0x0f, 0x1e, 0xc8); /* rdsspq %rax */
	OP(e, 0x48, 0x85, 0xc0); /* test %rax,%rax */
	x86_jcc_label(e, CC_E, none);
}

static void shadow_pop(struct x86_emit *e)
{
	OP(e, 0xb8, 1, 0, 0, 0); /* mov $1,%eax */
	OP(e, 0xf3, 0x48, 0x0f, 0xae, 0xe8); /* incsspq %rax */
}

/* The call that was retargeted has not been made: its return address goes from the shadow stack too. */
static void forget_call(struct x86_emit *e)
{
	struct x86_label none = {0};

	shadow_top(e, &none);
	shadow_pop(e);
	x86_label_here(e, &none);
}

/* The handler has left the function as its return does: so it goes from the shadow stack. */
static void forget_frame(struct x86_emit *e)
{
	struct x86_label none = {0};

	lea(e, RCX, RBP, BELOW + 8);
	x86_mem(e, 0x3b, RCX, RBP, R(sp)); /* cmp */
	x86_jcc_label(e, CC_NE, &none);
	shadow_top(e, &none);
	load(e, RCX, RBP, R(ip));
	x86_mem(e, 0x3b, RCX, RAX, 0);
	x86_jcc_label(e, CC_NE, &none);
	shadow_pop(e);
	x86_label_here(e, &none);
}

/* By a way of its own that takes the frame away: see way.c. */
static void divert_by_jump(struct x86_emit *e, const struct shape *s)
{
	load(e, RDI, RSP, R(ip));
	load_address(e, RAX, (uintptr_t)x86_way);
	x86_mov(e, RBX, RSP);
	OP(e, 0x48, 0x83, 0xe4, 0xf0); /* and $-16,%rsp */
	OP(e, 0xff, 0xd0); /* call *%rax */
	x86_mov(e, RSP, RBX);
	store(e, RAX, RSP, R(sp)); /* nobody needs it any more */
	if (s->pushed)
		forget_call(e);
	load_state(e, s);
	if (s->pushed)
		lea(e, RSP, RSP, s->pushed);
	OP(e, 0x3e, 0xff, 0xa4, 0x24); /* notrack jmp *disp32(%rsp) */
	x86_u32(e, (uint32_t)(R(sp) - s->pushed));
}

/* Restore and go on at regs->ip, in one instruction that takes the frame away. */
static void divert_by_return(struct x86_emit *e, const struct shape *s)
{
	load_state(e, s);
	lea(e, RSP, RSP, R(ip));
	OP(e, 0xc2, (uint8_t)(BELOW - R(ip) - 8 + s->pushed), 0); /* ret $n */
}

/* The handler said no. */
static void divert(struct x86_emit *e, struct shape *s)
{
	struct x86_label go = {0};

	x86_label_here(e, &s->divert);
	if (s->full) {
		x86_lea_label(e, R10, &go);
		lea(e, RCX, RSP, BELOW + s->pushed);
		x86_mem(e, 0x3b, RCX, RSP, R(sp));
		x86_jcc_label(e, CC_NE, &s->move);
	}
	x86_label_here(e, &go);
	if (s->shadow_stack)
		divert_by_jump(e, s);
	else
		divert_by_return(e, s);
}

/*
 * The handler moved the stack pointer: move the frame along, go on at r10.
 * rdi = new frame. The lower of both frames stays covered all the time.
 */
static void move(struct x86_emit *e, struct shape *s)
{
	struct x86_label up = {0}, upward = {0}, down = {0}, done = {0};

	x86_label_here(e, &s->move);
	if (s->shadow_stack && !s->pushed)
		forget_frame(e);
	load(e, RDI, RBP, R(sp));
	lea(e, RDI, RDI, -(BELOW + s->pushed));
	if (s->pushed)
		load(e, R8, RBP, BELOW); /* the return address */
	OP(e, 0x48, 0x39, 0xef); /* cmp %rbp,%rdi */
	x86_jcc_label(e, CC_B, &up);
	OP(e, 0xb9, FRAME - 8, 0, 0, 0); /* mov $,%ecx */
	x86_label_here(e, &down);
	OP(e, 0x48, 0x8b, 0x44, 0x0d, 0x00); /* mov (%rbp,%rcx),%rax */
	OP(e, 0x48, 0x89, 0x04, 0x0f); /* mov %rax,(%rdi,%rcx) */
	OP(e, 0x83, 0xe9, 8); /* sub $8,%ecx */
	x86_jcc_label(e, CC_NS, &down);
	x86_jmp_label(e, &done);
	x86_label_here(e, &up);
	x86_mov(e, RSP, RDI);
	OP(e, 0x31, 0xc9); /* xor %ecx,%ecx */
	x86_label_here(e, &upward);
	OP(e, 0x48, 0x8b, 0x44, 0x0d, 0x00);
	OP(e, 0x48, 0x89, 0x04, 0x0f);
	OP(e, 0x83, 0xc1, 8); /* add $8,%ecx */
	OP(e, 0x81, 0xf9, FRAME, 0, 0, 0); /* cmp $,%ecx */
	x86_jcc_label(e, CC_NE, &upward);
	x86_label_here(e, &done);
	x86_mov(e, RSP, RDI);
	if (s->pushed)
		store(e, R8, RSP, BELOW);
	OP(e, 0x41, 0xff, 0xe2); /* jmp *%r10 */
}

/* --- one plan --------------------------------------------------------------- */

#define CALLS_MAX (TL_POINTS_MAX * 2)

struct build {
	struct x86_emit *e;
	const struct tl_plan *plan;
	const struct tl_detour_env *env;
	struct shape shape;
	struct call calls[CALLS_MAX];
	unsigned ncalls;
};

static void add_call(
	struct build *b, const struct tl_point *p, uintptr_t ip, bool post, int32_t pushed)
{
	struct call *c = &b->calls[b->ncalls];

	if (b->ncalls == CALLS_MAX) {
		b->e->err = -TL_E_LIMIT;
		return;
	}
	b->ncalls++;
	c->point = p;
	c->ip = ip;
	c->post = post;
	c->pushed = pushed;
	handler(b->e, &b->shape, b->env, c);
}

static const struct tl_point *point_at(const struct tl_plan *plan, uintptr_t addr)
{
	for (unsigned i = 0; i < plan->npoints; i++)
		if (plan->points[i].addr == addr)
			return &plan->points[i];
	return NULL;
}

/* A branch with a post handler: both ways call it. */
static void branch_with_post(struct build *b, const struct tl_insn *i, const struct tl_point *p)
{
	uintptr_t target = (uintptr_t)tl_insn_target(i, p->addr), next = p->addr + i->len;
	struct x86_label taken = {0}, over = {0};

	if (i->flags & TL_INSN_LOOP) {
		x86_bytes(b->e, i->bytes, i->imm_off);
		x86_byte(b->e, 2);
		x86_mark(b->e, false, next);
		OP(b->e, 0xeb, X86_JMP_LEN);
		x86_mark(b->e, false, target);
		x86_jmp_label(b->e, &taken);
	} else {
		x86_jcc_label(b->e, i->cond, &taken);
	}
	x86_mark(b->e, false, next);
	add_call(b, p, next, true, 0);
	x86_mark(b->e, false, next);
	x86_jmp_label(b->e, &over);
	x86_label_here(b->e, &taken);
	x86_mark(b->e, false, target);
	add_call(b, p, target, true, 0);
	x86_mark(b->e, false, target);
	x86_jmp_to(b->e, target);
	x86_label_here(b->e, &over);
}

/* ret $n: n. */
static int32_t pops(const struct tl_insn *i)
{
	return i->imm_size == 2 ? i->bytes[i->imm_off] | i->bytes[i->imm_off + 1] << 8 : 0;
}

/* The instruction at `addr`, with the handlers of its point. */
static void one(struct build *b, const struct tl_insn *i, uintptr_t addr)
{
	const struct tl_point *p = point_at(b->plan, addr);
	bool retarget = b->plan->rung == TL_RUNG_RETARGET;
	uintptr_t target = (uintptr_t)tl_insn_target(i, addr);

	if (!retarget)
		x86_mark(b->e, true, addr);
	else if (tl_insn_is_direct_branch(i))
		x86_mark(b->e, false, target);
	if (p)
		add_call(b, p, addr, false, b->shape.pushed);
	if (retarget) {
		if (p && p->post)
			add_call(b, p, target, true, 0);
		x86_displace_retargeted(b->e, i, addr);
		return;
	}
	x86_mark(b->e, false, addr);
	if (!p || !p->post) {
		x86_displace(b->e, i, addr);
	} else if (i->flow == TL_FLOW_JCC) {
		branch_with_post(b, i, p);
	} else if (i->flow == TL_FLOW_RET) {
		/* Called just before it, with the registers that it will leave. */
		add_call(b, p, 0, true, 8 + pops(i));
		x86_mark(b->e, false, addr);
		x86_displace(b->e, i, addr);
	} else if (i->flow == TL_FLOW_CALL || i->flow == TL_FLOW_JMP) {
		if (i->flow == TL_FLOW_CALL) {
			OP(b->e, 0xff, 0x35); /* push ret(%rip) */
			x86_lit32(b->e, addr + i->len);
		}
		x86_mark(b->e, false, target);
		add_call(b, p, target, true, 0);
		x86_mark(b->e, false, target);
		x86_jmp_to(b->e, target);
	} else {
		x86_displace(b->e, i, addr);
		x86_mark(b->e, false, addr + i->len);
		add_call(b, p, addr + i->len, true, 0);
	}
}

static void shape_of(struct shape *s, const struct tl_plan *plan, const struct tl_insn *first)
{
	for (unsigned i = 0; i < plan->npoints; i++) {
		s->full |= plan->points[i].flags & TL_PROBE_REGS;
		s->big |= plan->points[i].flags & TL_PROBE_BIG_STACK;
	}
	s->df = plan->port & X86_PORT_DF;
	s->early = plan->early;
	s->shadow_stack = plan->port & X86_PORT_SHADOW;
	if (plan->rung == TL_RUNG_RETARGET && first->flow != TL_FLOW_JMP)
		s->pushed = 8;
}

static int emit_insns(struct build *b)
{
	const struct tl_plan *plan = b->plan;
	uintptr_t addr = plan->start,
		  last = plan->npoints ? plan->points[plan->npoints - 1].addr : addr;
	struct tl_insn i;

	while (addr < plan->start + plan->len) {
		size_t off = addr - plan->start;

		if (!tl_insn_decode(&i, plan->orig + off, plan->len - off, TL_INSN_64))
			return -TL_E_BAD_INSN;
		if (addr == plan->start)
			shape_of(&b->shape, plan, &i);
		one(b, &i, addr);
		addr += i.len;
		/* Behind a jump nothing runs: padding. */
		if ((tl_insn_ends_block(&i) || plan->rung == TL_RUNG_RETARGET) && addr > last)
			return 0;
	}
	if (i.flow == TL_FLOW_CALL || i.flow == TL_FLOW_CALL_IND)
		return 0; /* it returns to the text */
	x86_mark(b->e, false, addr);
	x86_jmp_to(b->e, addr);
	return 0;
}

static int emit(struct x86_emit *e, const struct tl_plan *plan, const struct tl_detour_env *env)
{
	struct build b = {.e = e, .plan = plan, .env = env};
	int ret = emit_insns(&b);

	if (ret)
		return ret;
	for (unsigned i = 0; i < b.ncalls; i++)
		slow_path(e, env, &b.calls[i]);
	if (b.shape.diverts)
		divert(e, &b.shape);
	if (b.shape.moves || (b.shape.diverts && b.shape.full))
		move(e, &b.shape);
	x86_finish(e);
	return e->err ? e->err : (int)e->n;
}

int tl_arch_detour_build(
	const struct tl_plan *plan, const struct tl_detour_env *env, uintptr_t at, uint8_t *buf)
{
	struct x86_emit e = {.buf = buf, .at = at, .max = TL_DETOUR_MAX};

	return emit(&e, plan, env);
}

/* Where text and detour correspond. False: it cannot be built. */
static bool marks_of(const struct tl_plan *plan, const struct tl_detour_env *env, uintptr_t at,
	struct x86_marks *marks)
{
	uint8_t buf[TL_DETOUR_MAX];
	struct x86_emit e = {.buf = buf, .at = at, .max = TL_DETOUR_MAX, .marks = marks};

	marks->n = 0;
	return emit(&e, plan, env) >= 0;
}

/* Where it may lie, aligned. */
static uintptr_t lowest(const struct tl_plan *plan)
{
	uintptr_t at = plan->start > plan->reach_lo ? plan->start : plan->reach_lo;

	return at & ~(uintptr_t)(ALIGNMENT - 1);
}

/* In the longest forms; the real one can only be shorter, but for alignment. */
static size_t longest(const struct tl_plan *plan)
{
	const struct tl_detour_env any = {
		.enter_slow =
			(struct tl_thread * (*)(struct tl_site *, uintptr_t, uintptr_t)) INTPTR_MAX,
		.tid_offset = 1,
		.fast_key = true,
	};
	uint8_t buf[TL_DETOUR_MAX];
	struct x86_emit e = {.buf = buf, .at = lowest(plan), .max = TL_DETOUR_MAX, .longest = true};
	int size = emit(&e, plan, &any);

	return size < 0 ? SIZE_MAX : (size_t)size + ALIGNMENT;
}

/* Of one point without a post handler, around the displaced instructions: depends on its shape alone. */
static size_t longest_around(const struct tl_plan *plan)
{
	static uint16_t known[32];
	const uintptr_t anywhere = 4096;
	const uint8_t nop = 0x90;
	unsigned flags = plan->points[0].flags;
	unsigned shape = (flags & TL_PROBE_REGS ? 1u : 0) | (flags & TL_PROBE_BIG_STACK ? 2u : 0) |
			 (plan->port & X86_PORT_DF ? 4u : 0) | (plan->early ? 8u : 0) |
			 (plan->port & X86_PORT_SHADOW ? 16u : 0);

	if (!known[shape]) {
		struct tl_plan bare = {.rung = TL_RUNG_WINDOW,
			.port = plan->port,
			.npoints = 1,
			.len = sizeof(nop),
			.early = plan->early,
			.start = anywhere,
			.orig = {nop},
			.points = {{.addr = anywhere, .flags = flags}}};

		known[shape] = (uint16_t)longest(&bare);
	}
	return known[shape];
}

/* The displaced instructions alone. */
static size_t longest_displaced(const struct tl_plan *plan)
{
	uint8_t buf[TL_DETOUR_MAX];
	struct x86_emit e = {.buf = buf, .at = lowest(plan), .max = sizeof(buf), .longest = true};
	struct tl_insn i;

	for (size_t off = 0; off < plan->len; off += i.len) {
		if (!tl_insn_decode(&i, plan->orig + off, plan->len - off, TL_INSN_64))
			return SIZE_MAX;
		x86_displace(&e, &i, plan->start + off);
		if (tl_insn_ends_block(&i) && plan->start + off >= plan->points[0].addr)
			break;
	}
	x86_finish(&e);
	return e.err ? SIZE_MAX : e.n + ALIGNMENT;
}

size_t tl_arch_detour_bound(const struct tl_plan *plan)
{
	size_t displaced;

	if (plan->npoints != 1 || plan->points[0].post || plan->rung == TL_RUNG_RETARGET)
		return longest(plan);
	displaced = longest_displaced(plan);
	return displaced == SIZE_MAX ? SIZE_MAX : longest_around(plan) + displaced;
}

uintptr_t tl_arch_ip_to_text(
	const struct tl_plan *plan, const struct tl_detour_env *env, uintptr_t at, uintptr_t ip)
{
	struct x86_marks marks;

	if (!marks_of(plan, env, at, &marks))
		return 0;
	for (unsigned i = 0; i < marks.n; i++)
		if (at + marks.mark[i].off == ip)
			return marks.mark[i].text;
	return 0;
}

uintptr_t tl_arch_ip_to_detour(
	const struct tl_plan *plan, const struct tl_detour_env *env, uintptr_t at, uintptr_t ip)
{
	struct x86_marks marks;

	if (plan->rung == TL_RUNG_RETARGET)
		return ip == plan->start ? ip : 0;
	if (!marks_of(plan, env, at, &marks))
		return 0;
	for (unsigned i = 0; i < marks.n; i++)
		if (marks.mark[i].entry && marks.mark[i].text == ip)
			return at + marks.mark[i].off;
	return 0;
}
