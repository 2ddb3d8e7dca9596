/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/* What the files of the x86-64 port share. */
#ifndef TRAPLESS_ENGINE_ARCH_X86_H
#define TRAPLESS_ENGINE_ARCH_X86_H

#include "../arch.h"
#include "../../insn/x86/insn.h"

#define X86_JMP_LEN  5
#define X86_RED_ZONE 128
/* A probed point's frame, from the interrupted stack pointer: see detour.c. */
#define X86_BELOW    272
#define X86_SAVED_IP 128

/* tl_code.port and tl_plan.port: bits */
enum x86_port {
	X86_PORT_DF =
		1
		<< 0, /* the direction flag may be set here: save all flags, clear it for the handler */
	X86_PORT_RSEQ = 1 << 1, /* holds a restartable sequence, or the abort handler of one */
	X86_PORT_TABLE = 1 << 2, /* holds an indirect jump that may go by a table */
	X86_PORT_BREAK =
		1
		<< 3, /* holds a breakpoint that control falls into: a debugger's, or a kernel's uprobe */
	X86_PORT_LEAVES = 1 << 4, /* holds a direct jump that leads elsewhere */
	X86_PORT_SHADOW = 1 << 5, /* plans: the program has a shadow stack */
};

enum x86_reg { RAX, RCX, RDX, RBX, RSP, RBP, RSI, RDI, R8, R9, R10, R11, R12, R13, R14, R15 };

/*
 * Where the program's state inside a detour equals its state at an address of
 * the original text; but for a return address, in what has pushed it.
 */
struct x86_mark {
	uint16_t off;
	uint8_t what; /* enum tl_place */
	uintptr_t text;
};

/* How an instruction may name an address. */
enum x86_form { X86_REL32, X86_ABS32, X86_ABS64 };

/*
 * Where code names one of several addresses, and where its second half refers
 * to the first or the other way round: what a copy of it must have mended.
 */
#define X86_NAMES_MAX 8
#define X86_REFS_MAX  20
struct x86_refs {
	const uintptr_t *names; /* X86_NAMES_MAX of them */
	size_t split; /* where the second half begins, 0: not yet */
	unsigned n, ncross;
	struct {
		uint16_t at;
		uint8_t name, form;
	} ref[X86_REFS_MAX];
	uint16_t cross[X86_REFS_MAX];
};

#define X86_MARKS_MAX 64
struct x86_marks {
	unsigned n;
	struct x86_mark mark[X86_MARKS_MAX];
};

/* Fields of an instruction; a register that is none of the legacy ones never has to do with what asks. */
static inline uint8_t x86_modrm(const struct tl_insn *i)
{
	return i->modrm_off ? i->bytes[i->modrm_off] : 0;
}

static inline uint8_t x86_reg_field(const struct tl_insn *i)
{
	return (uint8_t)((x86_modrm(i) >> 3 & 7) | (i->rex & 4) << 1);
}

static inline uint8_t x86_rm_field(const struct tl_insn *i)
{
	return (uint8_t)((x86_modrm(i) & 7) | (i->rex & 1) << 3);
}

static inline bool x86_legacy(const struct tl_insn *i, uint8_t map, uint8_t opcode)
{
	return i->map == map && i->opcode == opcode &&
	       !(i->flags & (TL_INSN_VEX | TL_INSN_EVEX | TL_INSN_REX2));
}

/* Code under construction: `n` bytes in buf, to run at `at`. Errors stick. */
struct x86_emit {
	uint8_t *buf;
	uintptr_t at;
	size_t n, max;
	int err;
	bool longest; /* take no address to be near */
	struct x86_marks *marks; /* NULL: nobody asks */
	struct x86_refs *refs; /* the same */
	struct { /* 8-byte constants, laid out behind the code */
		size_t fix;
		uint64_t value;
	} lit[16];
	unsigned nlit;
};

/* A place that jumps inside the detour lead to, before or after they are emitted. */
#define X86_FIX_MAX 20
struct x86_label {
	bool placed;
	uint8_t nfix;
	uint16_t pos;
	uint16_t fix[X86_FIX_MAX];
};

/* emit.c: the few instructions a detour is made of */
void x86_bytes(struct x86_emit *e, const void *b, size_t n);

/* The n low bytes of v, at most 8: one store of a word where there is room for it. */
static inline void x86_put(struct x86_emit *e, uint64_t v, unsigned n)
{
	if (e->n + sizeof(v) > e->max) {
		x86_bytes(e, &v, n);
		return;
	}
	__builtin_memcpy(e->buf + e->n, &v, sizeof(v));
	e->n += n;
}

static inline void x86_byte(struct x86_emit *e, uint8_t b)
{
	x86_put(e, b, 1);
}

static inline void x86_u32(struct x86_emit *e, uint32_t v)
{
	x86_put(e, v, 4);
}

/* Instead of the n bytes at pos, 4 or 8. */
void x86_put_at(struct x86_emit *e, size_t pos, uint64_t v, unsigned n);
/* As x86_imm64(), or by the distance from here. Depends on where the code begins, not on how far it has come. */
enum x86_form x86_form(const struct x86_emit *e, uintptr_t address);
void x86_rel32(
	struct x86_emit *e, uintptr_t target); /* displacement that ends here and leads to target */
void x86_lit32(struct x86_emit *e, uint64_t value); /* RIP-relative displacement of a constant */
void x86_finish(struct x86_emit *e); /* lays out the constants */
void x86_mark(struct x86_emit *e, enum tl_place what, uintptr_t text);
void x86_label_here(struct x86_emit *e, struct x86_label *l);
void x86_jmp_label(struct x86_emit *e, struct x86_label *l);
void x86_jcc_label(struct x86_emit *e, uint8_t cond, struct x86_label *l);
void x86_rip(struct x86_emit *e, uint8_t op,
	enum x86_reg dst); /* op disp32(%rip),dst without its displacement */
void x86_lea_label(struct x86_emit *e, enum x86_reg dst, struct x86_label *l);
void x86_jmp_to(struct x86_emit *e, uintptr_t target);
void x86_jcc_to(struct x86_emit *e, uint8_t cond, uintptr_t target);
/* op r64, disp(base) with REX.W: 8b load, 89 store, 8d lea, 39 cmp %reg,mem, 3b cmp mem,%reg */
void x86_mem(struct x86_emit *e, uint8_t op, enum x86_reg reg, enum x86_reg base, int32_t disp);
void x86_mov(struct x86_emit *e, enum x86_reg dst, enum x86_reg src);
void x86_imm64(struct x86_emit *e, enum x86_reg dst, uint64_t v); /* shortest form, any position */
void x86_address(
	struct x86_emit *e, enum x86_reg dst, uintptr_t address); /* by lea, where it is in reach */

/* What all points of one detour have in common. */
struct x86_shape {
	bool full, big, df, early, shadow_stack, no_red_zone;
	int32_t below; /* bytes of the interrupted stack that are stayed clear of, or used */
	int32_t pushed; /* bytes that the changed instruction has pushed itself: retargeted calls */
	bool diverts, moves;
	struct x86_label divert, move;
};

/* One call of a handler. */
struct x86_call {
	const struct tl_point *point;
	uintptr_t ip; /* what regs->ip says; 0: what the stack's top says */
	int32_t pushed;
	bool post;
	struct x86_label slow, guarded, restore;
};

/* handler.c: the code for one call, and what lies far behind it, of all calls of a detour */
void x86_handler(struct x86_emit *e, struct x86_shape *s, const struct tl_detour_env *env,
	struct x86_call *c);
void x86_handler_tails(struct x86_emit *e, struct x86_shape *s, const struct tl_detour_env *env,
	struct x86_call *calls, unsigned n);

/* template.c: the same for the only call of a detour, before p's instruction. NULL: there is none for it. */
struct x86_template *x86_template_for(const struct x86_emit *e, const struct x86_shape *s,
	const struct tl_detour_env *env, const struct tl_point *p);
void x86_template_head(const struct x86_template *t, struct x86_emit *e);
void x86_template_tail(const struct x86_template *t, struct x86_emit *e, size_t head);

/* xol.c: displaced instructions */
/* Can it run elsewhere at all? `window`: together with others, `last` of them or not. 0 or -TL_E_ */
int x86_can_move(const struct tl_insn *i);
bool x86_can_join(const struct tl_insn *i, bool last);
/* A call made from a detour leaves no address on the shadow stack. */
bool x86_must_stay(const struct tl_code *code, const struct tl_insn *i);
/* Emit a copy that does the same as `i` at addr; state as there. */
void x86_displace(struct x86_emit *e, const struct tl_insn *i, uintptr_t addr);
/* The same for a call whose return address is on the stack already. */
void x86_displace_retargeted(struct x86_emit *e, const struct tl_insn *i, uintptr_t addr);
bool x86_can_retarget(const struct tl_insn *i);
/* Does it refer to text by a 32-bit displacement? Then *target is what must be in reach. */
bool x86_refers(const struct tl_insn *i, uintptr_t addr, uintptr_t *target);

/* way.c: code that takes away a frame whose point has pushed nothing, and goes on at ip; no return */
uintptr_t x86_way(uintptr_t ip);

/* classify.c: walked code */
bool x86_is_boundary(const struct tl_code *code, uintptr_t addr);
bool x86_is_target(const struct tl_code *code, uintptr_t addr);
/* The part that holds addr: this one or one of those right behind it, NULL: none. */
const struct tl_code *x86_part(const struct tl_code *code, uintptr_t addr);
/* The instruction that begins with p[0], of n bytes at most. */
bool x86_decode(struct tl_insn *i, const uint8_t *p, size_t n);
bool x86_decode_at(const struct tl_code *code, uintptr_t addr, struct tl_insn *i);
/* Bytes that are this instruction's alone: its own, and the padding behind the part's last one. */
unsigned x86_insn_room(const struct tl_code *code, uintptr_t addr, const struct tl_insn *i);
bool x86_is_got_jump(const struct tl_insn *i); /* jmp *m(%rip): leaves for another function */

/*
 * switch.c: call fn for every place that the indirect jump at addr may lead to
 * (and maybe some more), when that is known. The part is walked already.
 */
bool x86_switch_targets(const struct tl_code *code, const struct tl_insn *jmp, uintptr_t addr,
	void (*fn)(void *arg, uintptr_t target), void *arg);

/* away.c: its indirect jumps that switch.c does not know lead out of it, each of them. The part is walked already. */
bool x86_only_leaves(const struct tl_code *code);
/* It seems to take addresses of its own middle: whoever does is an interpreter. No proof of the contrary. */
bool x86_names_middle(const struct tl_code *code);

/* plan.c: one planning request */
struct x86_request {
	struct tl_plan *plan;
	const struct tl_code *code;
	const struct tl_ground *ground;
	struct tl_insn first; /* the first point's */
	unsigned room; /* x86_insn_room() of it */
	uintptr_t last_end; /* end of the last point's instruction */
	unsigned skip; /* so many of the next candidates fail for the reason just returned */
};

static inline bool x86_claimed(const struct x86_request *r, uintptr_t lo, uintptr_t hi)
{
	return r->ground->claimed(r->ground->arg, lo, hi);
}

/*
 * The candidates in their order. A jump that may lie anywhere in 16 MiB is as
 * good as a whole one; others take a page of their own, so that windows, which
 * lie close together, come before them.
 */
#define X86_EVICTIONS 348656
enum x86_step {
	X86_STEP_RETARGET,
	X86_STEP_WHOLE,
	X86_STEP_WIDE_PUN,
	X86_STEP_WINDOW,
	X86_STEP_PUN,
	X86_STEP_EVICT = X86_STEP_PUN + 4,
	X86_STEP_TRAP = X86_STEP_EVICT + X86_EVICTIONS,
};

void x86_settle(struct tl_plan *plan, const struct tl_code *code, enum tl_rung rung,
	uintptr_t start, uintptr_t end);
bool x86_any_target(const struct tl_code *code, uintptr_t lo, uintptr_t hi, int *why);

/* Is there a place for the detour from which everything is in reach? 0 or -TL_E_ */
int x86_check_reach(const struct tl_plan *plan);
/* tl_plan.port for code of this part. */
uint8_t x86_port_of(const struct tl_code *code);

/* What will stand in the text from some address on. */
#define X86_VIEW 16
struct x86_view {
	unsigned n;
	uint8_t value[X86_VIEW];
	bool open[X86_VIEW]; /* of another jump's displacement, to be chosen */
};

/* pun.c */
/* Bytes of the instruction that may change: up to the first that a branch leads to. */
unsigned x86_own_bytes(const struct x86_request *r);
bool x86_pun_is_wide(const struct x86_request *r);
/* The text from addr on, as far as it is known. */
void x86_view_text(const struct tl_code *code, uintptr_t addr, struct x86_view *v);
/* Where in plan's jump its displacement begins. */
unsigned x86_displacement(const struct tl_plan *plan);
/* Where plan's jump may lead, `own` of its bytes being its own. 0 or -TL_E_OUT_OF_REACH. */
int x86_fit(struct tl_plan *plan, unsigned own, const struct x86_view *behind);
/* A jump with `form` prefixes over the only point: what both rungs ask. 0 or -TL_E_ */
int x86_start_pun(struct x86_request *r, enum tl_rung rung, unsigned form);
/* One candidate. 0 or -TL_E_, INVAL: there is no such. */
int x86_try_pun(struct x86_request *r, unsigned form);

/* evict.c: the same. */
int x86_try_evict(struct x86_request *r, unsigned which);

#endif
