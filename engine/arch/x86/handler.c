/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/*
 * The code that calls a handler: save, gate, look the thread up, guard, call,
 * restore. What runs seldom lies behind the displaced instructions.
 *
 * A probed point's stack, from the interrupted stack pointer downwards: the
 * red zone, if code there has one, then struct tl_regs as a frame. Nothing below the frame matters,
 * so a signal may arrive anywhere.
 *
 * Flags go through lahf and seto, which is four times cheaper than pushf, but
 * leaves the direction flag as it is. C handlers need it clear. It is, by the
 * ABI, except between a std and its cld: a function that holds a std anywhere
 * (or that could not be decoded) gets pushf, cld and popf instead.
 * Scripts' handlers have no string instructions where the compiler can
 * do without. Alignment checking stays on: see runner/guardian/mend/alignment.c.
 */
#include "../../core/detour/site.h"
#include "../../core/detour/thread.h"
#include "x86.h"

#define R(field)   ((int32_t)offsetof(struct tl_regs, field))
#define FRAME	   ((int32_t)sizeof(struct tl_regs))
#define T(field)   ((int32_t)offsetof(struct tl_thread, field))
#define P(field)   ((int32_t)offsetof(struct tl_probe, field))
#define HASH_SHIFT (TL_THREAD_HASH_SHIFT - TL_THREAD_SHIFT)
#define HASH_MASK  ((TL_THREADS - 1) << TL_THREAD_SHIFT)

_Static_assert(TL_THREAD_HASH_MUL <= INT32_MAX, "imul's constant is signed");
_Static_assert(sizeof(struct tl_thread) == 1 << TL_THREAD_SHIFT, "an entry's size");
_Static_assert(offsetof(struct tl_gate, open) == 0, "the gate word is the gate");

enum cond { CC_B = 2, CC_E = 4, CC_NE = 5, CC_NS = 9 };

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

static void load_at(struct x86_emit *e, enum x86_reg dst, uintptr_t address)
{
	if (x86_form(e, address) == X86_REL32) {
		x86_rip(e, 0x8b, dst);
		x86_rel32(e, address);
		return;
	}
	x86_imm64(e, dst, address);
	load(e, dst, dst, 0);
}

/* rax is lost where the gate is out of reach. */
static void test_gate(struct x86_emit *e, const struct tl_gate *gate)
{
	uintptr_t address = (uintptr_t)gate;

	if (x86_form(e, address) != X86_REL32) {
		x86_imm64(e, RAX, address);
		OP(e, 0x83, 0x38, 0); /* cmpl $0,(%rax) */
		return;
	}
	OP(e, 0x83, 0x3d); /* cmpl $0,gate(%rip) */
	x86_rel32(e, address - 1);
	x86_byte(e, 0);
}

/* rax is free afterwards, the flags are in the frame. */
static void save_flags(struct x86_emit *e, const struct x86_shape *s)
{
	if (s->df) {
		OP(e, 0x9c); /* pushfq */
		OP(e, 0x8f, 0x44, 0x24,
			R(flags)); /* pop flags(%rsp): the address is taken after the pop */
		OP(e, 0xfc); /* cld */
		return;
	}
	OP(e, 0xb9, 0x00, 0x02, 0x00, 0x00); /* mov $0x200,%ecx */
	OP(e, 0xba, 0x00, 0x0a, 0x00, 0x00); /* mov $0xa00,%edx */
	OP(e, 0x0f, 0x40, 0xca); /* cmovo %edx,%ecx */
	OP(e, 0x88, 0xe1); /* mov %ah,%cl */
	store(e, RCX, RSP, R(flags));
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

static void save(struct x86_emit *e, const struct x86_shape *s, const struct x86_call *c)
{
	lea(e, RSP, RSP, -s->below);
	store(e, RAX, RSP, R(ax));
	if (!s->df)
		OP(e, 0x9f); /* lahf */
	all_regs(e, 0x89, s->full);
	save_flags(e, s);
	lea(e, RSI, RSP, s->below + c->pushed);
	store(e, RSI, RSP, R(sp));
	if (c->ip)
		x86_address(e, RAX, c->ip);
	else
		load(e, RAX, RSP, s->below);
	store(e, RAX, RSP, R(ip));
}

/* Everything back but the stack pointer. */
static void load_state(struct x86_emit *e, const struct x86_shape *s)
{
	if (s->df) {
		OP(e, 0xff, 0x74, 0x24, R(flags)); /* push flags(%rsp) */
		OP(e, 0x9d); /* popfq */
	} else {
		OP(e, 0x8b, 0x44, 0x24, R(flags)); /* mov flags(%rsp),%eax */
		OP(e, 0x80, 0xe4, 0x08); /* and $8,%ah: the overflow flag's bit */
		OP(e, 0x80, 0xc4, 0x78); /* add $0x78,%ah: overflows if it is set */
		OP(e, 0x88, 0xc4); /* mov %al,%ah */
		OP(e, 0x9e); /* sahf */
	}
	all_regs(e, 0x8b, s->full);
	load(e, RAX, RSP, R(ax));
}

/* The thread's record to rbx; rdx = key, rsi = interrupted sp, rbp = frame. */
static void look_up(struct x86_emit *e, const struct x86_shape *s, const struct tl_detour_env *env,
	struct x86_call *c)
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
		OP(e, 0x64, 0x48, 0x8b, 0x14, 0x25); /* mov %fs:disp32,%rdx */
		x86_u32(e, 0);
	}
	OP(e, 0x48, 0x69, 0xca); /* imul $,%rdx,%rcx */
	x86_u32(e, TL_THREAD_HASH_MUL);
	OP(e, 0x48, 0xc1, 0xe9, HASH_SHIFT); /* shr $,%rcx */
	OP(e, 0x81, 0xe1); /* and $,%ecx */
	x86_u32(e, HASH_MASK);
	x86_address(e, RBX, (uintptr_t)env->threads);
	OP(e, 0x48, 0x01, 0xcb); /* add %rcx,%rbx */
	x86_mem(e, 0x39, RDX, RBX, T(key));
	x86_jcc_label(e, CC_NE, &c->slow);
	OP(e, 0x48, 0x83, 0x7b, T(guard), 0); /* cmpq $0,guard(%rbx) */
	x86_jcc_label(e, CC_NE, &c->slow);
	if (!env->tid_offset)
		return;
	OP(e, 0x8b, 0x43, T(tid)); /* mov tid(%rbx),%eax */
	OP(e, 0x64, 0x3b, 0x04, 0x25); /* cmp %fs:tid_offset,%eax */
	x86_u32(e, (uint32_t)env->tid_offset);
	x86_jcc_label(e, CC_NE, &c->slow);
}

static uint32_t gives_of(const struct x86_shape *s)
{
	return (s->full ? TL_PROBE_REGS : 0) | (s->big ? TL_PROBE_BIG_STACK : 0);
}

/* It is 0 between handlers: a detour without anything to give leaves it alone. */
static void set_gives(struct x86_emit *e, const struct x86_shape *s, bool set)
{
	uint32_t gives = gives_of(s);

	if (!gives)
		return;
	OP(e, 0xc7, 0x43, T(gives)); /* movl $,gives(%rbx) */
	x86_u32(e, set ? gives : 0);
}

/* rbx = record with its guard set. */
static void call_handler(struct x86_emit *e, const struct x86_shape *s, const struct x86_call *c)
{
	set_gives(e, s, true);
	load_at(e, RDI, (uintptr_t)c->point->site + offsetof(struct tl_site, current));
	x86_mov(e, RSI, RBP);
	x86_mov(e, RDX, RBX);
	if (s->big)
		load(e, RSP, RBX, T(stack));
	OP(e, 0x48, 0x83, 0xe4, 0xf0); /* and $-16,%rsp */
	OP(e, 0xff, 0x57, c->post ? P(post) : P(pre)); /* call *pre(%rdi) */
	x86_mov(e, RSP, RBP);
	set_gives(e, s, false);
	OP(e, 0x48, 0xc7, 0x43, T(guard), 0, 0, 0, 0); /* movq $0,guard(%rbx) */
}

static void after_call(struct x86_emit *e, struct x86_shape *s, struct x86_call *c)
{
	if (!c->post) {
		OP(e, 0x85, 0xc0); /* test %eax,%eax */
		x86_jcc_label(e, CC_NE, &s->divert);
		s->diverts = true;
	}
	if (s->full && c->pushed == s->pushed) { /* a changed stack pointer */
		x86_lea_label(e, R10, &c->restore);
		lea(e, RCX, RSP, s->below + c->pushed);
		x86_mem(e, 0x3b, RCX, RSP, R(sp));
		x86_jcc_label(e, CC_NE, &s->move);
		s->moves = true;
	}
}

/* Has a function look the processor's record up, and call the handler. */
static void call_hit(struct x86_emit *e, const struct x86_shape *s, const struct tl_detour_env *env,
	const struct x86_call *c)
{
	x86_mov(e, RBP, RSP);
	x86_address(e, RDI, (uintptr_t)c->point->site);
	x86_mov(e, RSI, RSP);
	x86_byte(e, 0xba); /* mov $,%edx */
	x86_u32(e, gives_of(s) | (c->post ? TL_HIT_POST : 0));
	OP(e, 0x48, 0x83, 0xe4, 0xf0); /* and $-16,%rsp */
	if (x86_form(e, (uintptr_t)env->hit) == X86_REL32) {
		x86_byte(e, 0xe8); /* call */
		x86_rel32(e, (uintptr_t)env->hit);
	} else { /* never in a kernel */
		x86_address(e, RAX, (uintptr_t)env->hit);
		OP(e, 0xff, 0xd0); /* call *%rax */
	}
	x86_mov(e, RSP, RBP);
}

static void enter_and_call(struct x86_emit *e, const struct x86_shape *s,
	const struct tl_detour_env *env, struct x86_call *c)
{
	look_up(e, s, env, c);
	if (s->big) {
		OP(e, 0x48, 0x83, 0x7b, T(stack), 0); /* cmpq $0,stack(%rbx) */
		x86_jcc_label(e, CC_E, &c->slow);
	}
	store(e, RSI, RBX, T(guard));
	x86_label_here(e, &c->guarded);
	call_handler(e, s, c);
}

void x86_handler(struct x86_emit *e, struct x86_shape *s, const struct tl_detour_env *env,
	struct x86_call *c)
{
	save(e, s, c);
	test_gate(e, env->gate);
	x86_jcc_label(e, CC_E, &c->restore);
	if (env->hit)
		call_hit(e, s, env, c);
	else
		enter_and_call(e, s, env, c);
	after_call(e, s, c);
	x86_label_here(e, &c->restore);
	load_state(e, s);
	lea(e, RSP, RSP, s->below);
}

/* The C function that finds, makes or refuses a record. */
static void slow_path(struct x86_emit *e, const struct tl_detour_env *env, struct x86_call *c)
{
	x86_label_here(e, &c->slow);
	if (!env->enter_slow) {
		x86_jmp_label(e, &c->restore);
		return;
	}
	x86_address(e, RDI, (uintptr_t)c->point->site);
	x86_address(e, RAX, (uintptr_t)env->enter_slow);
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
static void forget_frame(struct x86_emit *e, const struct x86_shape *s)
{
	struct x86_label none = {0};

	lea(e, RCX, RBP, s->below + 8);
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
static void divert_by_jump(struct x86_emit *e, const struct x86_shape *s)
{
	load(e, RDI, RSP, R(ip));
	x86_address(e, RAX, (uintptr_t)x86_way);
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
static void divert_by_return(struct x86_emit *e, const struct x86_shape *s)
{
	load_state(e, s);
	lea(e, RSP, RSP, R(ip));
	OP(e, 0xc2, (uint8_t)(s->below - R(ip) - 8 + s->pushed), 0); /* ret $n */
}

/* The handler said no. */
static void divert(struct x86_emit *e, struct x86_shape *s)
{
	struct x86_label go = {0};

	x86_label_here(e, &s->divert);
	if (s->full) {
		x86_lea_label(e, R10, &go);
		lea(e, RCX, RSP, s->below + s->pushed);
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
static void move(struct x86_emit *e, struct x86_shape *s)
{
	struct x86_label up = {0}, upward = {0}, down = {0}, done = {0};

	x86_label_here(e, &s->move);
	if (s->shadow_stack && !s->pushed)
		forget_frame(e, s);
	load(e, RDI, RBP, R(sp));
	lea(e, RDI, RDI, -(s->below + s->pushed));
	if (s->pushed)
		load(e, R8, RBP, s->below); /* the return address */
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
		store(e, R8, RSP, s->below);
	OP(e, 0x41, 0xff, 0xe2); /* jmp *%r10 */
}

void x86_handler_tails(struct x86_emit *e, struct x86_shape *s, const struct tl_detour_env *env,
	struct x86_call *calls, unsigned n)
{
	for (unsigned i = 0; i < n && !env->hit; i++)
		slow_path(e, env, &calls[i]);
	if (s->diverts)
		divert(e, s);
	if (s->moves || (s->diverts && s->full))
		move(e, s);
}
