/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/*
 * The port contract: what the engine's core asks of an instruction set.
 *
 * One port is chosen at link time (engine/arch/NAME/). A port may stop after
 * any tier: the core then uses the rungs of that tier. Nothing here allocates,
 * locks, writes text or calls the operating system; all work is on buffers
 * that the core gives, so every function runs under os/fake as well.
 */
#ifndef TRAPLESS_ENGINE_ARCH_H
#define TRAPLESS_ENGINE_ARCH_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <trapless/probe.h>

/*
 * A stretch of code whose instruction boundaries are being proven: one part of
 * one function. `text` is a copy with the original bytes (no probes), so that
 * analysis never sees our own patches.
 */
struct tl_code {
	uintptr_t start; /* address of text[0] */
	size_t size;
	/* Size + after bytes, and 15 more that may be read whatever they are */
	const uint8_t *text;
	size_t after; /* bytes behind the part up to the next function; the walk makes it 0 unless all are padding */
	size_t known; /* bytes of text[] that are text, whatever stands behind the part: at least `size` */
	const uintptr_t
		*pads; /* sorted addresses that control reaches by other ways: landing pads, jumps
				 * from other parts (.cold and the like, see tl_arch_code_leaves()), ... */
	size_t npads;
	bool shadow_stack; /* calls must be made where they stand: see tl_os_shadow_stack() */
	bool run_stopped; /* text runs while all are stopped: see tl_os_stop_sync() */
	bool hidden_pads; /* no unwind table tells the pads: one may stand wherever control does not fall into */
	/* The part that begins where this one and its padding end, walked, as long as it is needed; NULL: not known. */
	const struct tl_code *(*behind)(const struct tl_code *code);
	/* As tl_os_text_read(), for jump tables; NULL: indirect jumps stay unknown. */
	size_t (*read)(uintptr_t addr, void *buf, size_t len);
	/* Filled by tl_arch_code_walk(): */
	/* Bitmap, size + after bits, memory from the core: an instruction starts here */
	uint8_t *boundary;
	uint8_t *target; /* bitmap: a branch inside the function, or a pad, leads here */
	bool indirect; /* has an indirect jump whose targets are not known */
	bool complete; /* every byte was decoded */
	uint8_t port; /* port's own use */
};

#define TL_POINTS_MAX 8 /* probed instructions one detour can serve */
#define TL_PATCH_MAX  24 /* bytes one patch may change */
#define TL_DETOUR_MAX 2048 /* bytes one detour may take */

/* One probed instruction inside a patch. */
struct tl_point {
	uintptr_t addr;
	/* The detour calls (*site->current->pre)(current, regs, thread); meanwhile thread->gives is tl_plan_gives() */
	struct tl_site *site;
	uint32_t flags; /* union of the TL_PROBE_ flags of its probes */
	bool post; /* calls post handlers too */
};

/*
 * A jump that shares bytes with the text reaches few places only: the
 * distance of the detour's first byte from `from`, modulo 4 GiB, must be
 * `match` under `mask`. mask 0: anywhere in reach.
 */
struct tl_fit {
	uintptr_t from;
	uint32_t mask, match;
};

/* The first address at or behind `at` that fits. */
static inline uintptr_t tl_fit_next(const struct tl_fit *f, uintptr_t at)
{
	uint32_t rel = (uint32_t)(at - f->from), v = (rel & ~f->mask) | f->match, below;

	if (v == rel)
		return at;
	/* The free bits below the highest that differs become 0; where v is too low, those above count up. */
	below = (1u << (31 - (unsigned)__builtin_clz(v ^ rel))) - 1;
	if (v < rel)
		v = ((((rel | f->mask) | below) + 1) & ~f->mask) | f->match;
	v = (v & ~below) | (f->match & below);
	return at + (uint32_t)(v - rel);
}

/* How a patch is, or will be, placed: arch decides, core carries it out. */
struct tl_plan {
	uint8_t rung; /* enum tl_rung */
	uint8_t port; /* port's own use */
	uint8_t npoints;
	uint8_t len; /* original bytes covered: [start, start + len) */
	uint8_t changed; /* bytes written from start; <= len */
	uint8_t held; /* bytes from start that nobody else may change while it stands: at least `len` */
	uint32_t step; /* port's own, as are these */
	uint8_t form, prefix;
	struct {
		uint8_t mask, byte[8];
	} need; /* bytes that jumps in front of this one need to be what they are */
	uintptr_t start;
	uintptr_t reach_lo, reach_hi; /* the detour must lie in [reach_lo, reach_hi) */
	struct tl_fit fit;
	uintptr_t moved; /* this instruction goes first, see tl_arch_plan_moved(); 0: none */
	int why[TL_RUNG_TRAP + 1]; /* reasons against better rungs, -TL_E_ */
	uint8_t orig[TL_PATCH_MAX]; /* the original bytes of [start, start + len) */
	bool early; /* threads may come without a thread pointer (dynamic loader, static start code) */
	bool no_red_zone; /* the code uses nothing below its stack pointer */
	uint16_t bound; /* tl_arch_detour_bound() of it where the port has asked already, else 0 */
	/* Sorted by address; those behind npoints hold nothing */
	struct tl_point points[TL_POINTS_MAX];
};

/* What handlers may ask of the detour that calls them. */
#define TL_PROBE_ASKS (TL_PROBE_REGS | TL_PROBE_BIG_STACK)

/* What this plan's detour has for its handlers: each of them, what any of them asked for. */
static inline uint32_t tl_plan_gives(const struct tl_plan *plan)
{
	uint32_t flags = 0;

	for (unsigned i = 0; i < plan->npoints; i++)
		flags |= plan->points[i].flags;
	return flags & TL_PROBE_ASKS;
}

/* --- tier 1: trap ------------------------------------------------------ */

extern const unsigned tl_arch_rungs; /* bit per enum tl_rung that this port can do */
extern const size_t tl_arch_near; /* the jumps that tl_arch_wide_jumps() leaves out reach less far, in bytes */

/* Decode the whole part: fills the bitmaps, `indirect`, `complete`. Returns 0 or -TL_E_BAD_INSN (complete = false). */
int tl_arch_code_walk(struct tl_code *code);

/*
 * The first `known` bytes of a walked part are code (0: its first instruction is). How many are, from the start, since
 * control falls on, or direct jumps of those before lead there? Behind a call nobody knows whether it returns. At least
 * `known`.
 */
size_t tl_arch_code_reached(const struct tl_code *code, size_t known);
/* A system call's instruction whose number is loaded right in front of it: that number. text: the `size` bytes up to its end. -1. */
int64_t tl_arch_syscall_number(const uint8_t *text, size_t size);

/*
 * Call fn for the target of every jump (not call; direct or by a known table)
 * of a walked part that lies outside it: such jumps are the pads of the part
 * they lead into.
 */
void tl_arch_code_leaves(
	const struct tl_code *code, void (*fn)(void *arg, uintptr_t target), void *arg);
/* Call fn for each address that the walked part has in it, to use it as a value, and may be of text. */
void tl_arch_code_names(const struct tl_code *code, void (*fn)(void *arg, uintptr_t at), void *arg);

/*
 * Call fn for every address that any byte of text[0..size), taken as the start
 * of a direct jump of wide reach (not the short forms), would lead to.
 * No decoding: a superset. 64 bytes behind `size` may be read. `addr` is the
 * address of text[0]. In the same way, call `table` for every address that
 * may be the base of a jump table: switches do lead into .cold parts (a
 * thousand times in python3).
 */
void tl_arch_wide_jumps(const uint8_t *text, size_t size, uintptr_t addr,
	void (*fn)(void *arg, uintptr_t target), void (*table)(void *arg, uintptr_t base),
	void *arg);
/* The same for calls and jumps that are not conditional: also from where. */
void tl_arch_wide_calls(const uint8_t *text, size_t size, uintptr_t addr,
	void (*fn)(void *arg, uintptr_t from, uintptr_t target), void *arg);

/*
 * Read what may be a jump table of at most `size` bytes, in every form that
 * compilers write, as long as its entries lead into [lo, hi). Calls fn (may be
 * NULL: only the first entry is looked at) for each; returns their number.
 */
size_t tl_arch_table_targets(uintptr_t base, size_t size, uintptr_t lo, uintptr_t hi,
	size_t (*read)(uintptr_t addr, void *buf, size_t len),
	void (*fn)(void *arg, uintptr_t target), void *arg);

/* May this instruction be probed at all? 0 or the reason: -TL_E_NOT_BOUNDARY, IN_RSEQ, IN_LLSC, NO_RELOCATE ... */
int tl_arch_can_probe(const struct tl_code *code, uintptr_t addr);

/* What a plan must know of others. */
struct tl_ground {
	bool (*claimed)(void *arg, uintptr_t lo, uintptr_t hi); /* [lo, hi) holds bytes of another patch */
	/* Might a detour lie where plan->fit and its reach say? Asked of each in a chain that moves; NULL: yes. */
	bool (*room)(void *arg, const struct tl_plan *plan);
	void *arg;
};

/*
 * Choose the cheapest rung out of `allowed` (bits) for the probed
 * instructions in plan->points[0..npoints). All of them must be served by
 * this one patch. Returns 0, or the reason why no allowed rung fits, with
 * plan->why[] telling for each rung.
 */
int tl_arch_plan(struct tl_plan *plan, const struct tl_code *code, unsigned allowed,
	const struct tl_ground *ground);

/*
 * The same from the plan's next candidate on: another place for the detour on
 * the same rung, or the next rung. The core asks when it could not carry out
 * what it got; it has set plan->why[plan->rung].
 */
int tl_arch_plan_next(struct tl_plan *plan, const struct tl_code *code, unsigned allowed,
	const struct tl_ground *ground);

/*
 * TL_RUNG_EVICT, tier 4: the patch, without points, that moves plan->moved out
 * of the way of a plan whose detour is going to be at `at`. It stands before
 * plan's own bytes are written, and until they are gone. It may have to move
 * another one itself. Returns 0 or -TL_E_.
 */
int tl_arch_plan_moved(const struct tl_plan *plan, uintptr_t at, const struct tl_code *code,
	struct tl_plan *moved);

/* Does one of its instructions jump elsewhere? */
bool tl_arch_plan_jumps(const struct tl_plan *plan);

/* The bytes of the breakpoint; returns their number. */
size_t tl_arch_trap_insn(uint8_t *buf);

/*
 * A place of a hook, which is switched by its text: what stands at `at` where it goes on, and where it leads to `target`,
 * both one instruction of so many bytes, which one store writes. NULL: not wanted. 0: there can be no such place.
 */
size_t tl_arch_switch(uintptr_t at, uintptr_t target, uint8_t *nop, uint8_t *jump);

/* --- tier 2: out of line ------------------------------------------------ */

/* Addresses of the core's services that a detour refers to. */
struct tl_detour_env {
	const struct tl_gate *gate; /* gate->open: 0 closed */
	struct tl_thread *threads; /* table of TL_THREADS entries, see core/detour/thread.h */
	/* miss path: finds or makes the thread's record, counts a miss; NULL: run no handler */
	struct tl_thread *(*enter_slow)(struct tl_site *site, uintptr_t sp, uintptr_t key);
	/*
	 * The record that enter_slow returns has its guard free, and a private
	 * stack where the site needs one. key 0: the detour could not read the
	 * thread pointer, use tl_os_thread_key(true).
	 */
	int32_t tid_offset; /* of the thread id behind the thread pointer, as this libc has it; 0: do not check */
	bool fast_key; /* the thread pointer may be read where it leads nowhere, too; for plans with `early` */
	/*
	 * Instead of all this, where records are the processors': finds the record, and calls the handler. `gives`:
	 * tl_plan_gives() of the detour, and TL_HIT_POST. What the handler says.
	 */
	int (*hit)(struct tl_site *site, struct tl_regs *regs, uint32_t gives);
};
#define TL_HIT_POST (1u << 31) /* the handler behind the instruction */

/*
 * Build the detour for `plan` as it will run at address `at`, into buf (at
 * most TL_DETOUR_MAX bytes). It serves every rung, the trap rung included.
 * Returns its size, or -TL_E_OUT_OF_REACH / -TL_E_NO_RELOCATE.
 */
int tl_arch_detour_build(
	const struct tl_plan *plan, const struct tl_detour_env *env, uintptr_t at, uint8_t *buf);

/* An upper bound of that size, for allocation. */
size_t tl_arch_detour_bound(const struct tl_plan *plan);

/*
 * Where does a program counter belong? `ip` inside the detour at `at` (of
 * `size` bytes): the address in the original text with the same program
 * state, or 0 when there is none (inside save, handler call, restore).
 */
uintptr_t tl_arch_ip_to_text(
	const struct tl_plan *plan, const struct tl_detour_env *env, uintptr_t at, uintptr_t ip);

/*
 * `ip` inside the patched bytes: the place in the detour that goes on the
 * same way, or 0. On TL_RUNG_RETARGET plan->start belongs to itself: the
 * changed call is run where it stands.
 */
uintptr_t tl_arch_ip_to_detour(
	const struct tl_plan *plan, const struct tl_detour_env *env, uintptr_t at, uintptr_t ip);

/* All such places of a detour, for who cannot ask when he needs to know. */
enum tl_place {
	TL_PLACE_COPY, /* runs what stands at `text` */
	TL_PLACE_ENTRY, /* the same behind the probes there */
	TL_PLACE_PUSHED, /* COPY, the return address being on the stack already: the state is not the same */
};
void tl_arch_detour_places(const struct tl_plan *plan, const struct tl_detour_env *env,
	uintptr_t at, void (*fn)(void *arg, uintptr_t ip, uintptr_t text, enum tl_place what),
	void *arg);

/* --- small stacks --------------------------------------------------------- */

/* Bytes that a call puts on the stack: 0 where it leaves the return address in a register. */
extern const int tl_arch_call_pushes;

/* What a whole function of Go takes of its goroutine's stack. */
struct tl_stack_use {
	uint32_t depth; /* bytes at most, whatever way control goes; TL_STACK_UNKNOWN */
	uint32_t checked; /* offset behind the comparison with the goroutine's limit, 0: it has none (nosplit) */
	uint32_t spare; /* what was compared lies so many bytes below the stack pointer at the entry */
	uint32_t cold; /* offset of what runs when the limit was reached */
};
#define TL_STACK_UNKNOWN (1u << 30)

/*
 * Decode text[0..size), which stands at `addr`; 15 bytes more may be read. Calls fn for each call or jump that
 * leaves it, or may do so; target 0: not known.
 */
void tl_arch_stack_use(const uint8_t *text, size_t size, uintptr_t addr, struct tl_stack_use *use,
	void (*fn)(void *arg, uint32_t at, uintptr_t target, bool call), void *arg);
/* Is it a return: with the stack pointer that the function was entered with? */
bool tl_arch_is_return(const struct tl_code *code, uintptr_t addr);
/*
 * Bytes of the program's stack that a detour takes where code uses nothing below the stack pointer; `first`: at a thread's
 * first hit, and at one within a handler, where enter_slow finds the record.
 */
int tl_arch_stack_taken(bool first);

/* --- tier 3: return ------------------------------------------------------ */

enum tl_exit_kind {
	TL_EXIT_RETURN,
	TL_EXIT_TAIL, /* jump to `target`, or to where the word at `slot` says; or what control runs into */
	TL_EXIT_TAIL_COND, /* to `target`, under a condition */
	TL_EXIT_COMPUTED, /* tl_arch_exit_target() tells where to, which may be inside the function */
};
struct tl_exit {
	uintptr_t addr;
	uintptr_t target, slot; /* TAIL, TAIL_COND: one of them is not 0 */
	uint8_t kind;
	uint8_t cond; /* TAIL_COND: port's own */
	bool all_regs; /* COMPUTED: needs a probe with TL_PROBE_REGS */
	bool hot; /* COMPUTED: may be an interpreter's, which leads on inside the function each time */
	uint8_t port[3]; /* COMPUTED: port's own */
	intptr_t disp;
};

/*
 * The exits of the function part: returns, jumps that leave all of
 * parts[0..nparts) or lead back to the function's entry, and those that may.
 * Returns their number (may exceed
 * max), or -TL_E_NO_EXIT when one cannot be probed as such: then
 * exits[0].addr names it, if max is not 0 (0: not all of the part could be
 * decoded).
 */
int tl_arch_exits(const struct tl_code *code, const struct tl_func_part *parts, size_t nparts,
	uintptr_t entry, struct tl_exit *exits, size_t max);

/* Makes a COMPUTED exit lead to where this register says, by the machine's number of it. */
void tl_arch_exit_by(struct tl_exit *exit, unsigned reg);

/* Where a COMPUTED exit leads with these registers. From a handler; reads what the jump itself will read. */
uintptr_t tl_arch_exit_target(const struct tl_exit *exit, const struct tl_regs *regs);

/*
 * Is the code at `addr` nothing but a jump to where a word of memory says (an
 * entry of a procedure linkage table)? Then that word's address, else 0.
 */
uintptr_t tl_arch_stub_slot(const uint8_t *text, size_t len, uintptr_t addr);
/*
 * Is it what such a word leads to as long as the dynamic loader has not looked the function up? Then the number by
 * which it will, of the entry in the image's table, else -1.
 */
int64_t tl_arch_stub_unbound(const uint8_t *text, size_t len);

/*
 * Of a call that entered at stack pointer `sp`, and was to return to `ret_ip`: may it be under way still? false: its frame
 * is gone, by what lies there now. Where that cannot be told: true. The thread stands still, the stack is mapped.
 */
bool tl_arch_call_stands(uintptr_t sp, uintptr_t ret_ip);

/* Is the conditional tail jump taken with these registers (exit->cond as tl_arch_exits() gave it)? Any context. */
bool tl_arch_cond_holds(uint8_t cond, const struct tl_regs *regs);

/*
 * Call fn as the function that was entered with *regs was called: all registers
 * that may carry arguments, those of *regs and the others (vectors), which hold
 * what the program had since nobody between it and here has touched them; and a
 * copy of `stack` bytes, a multiple of the word, of its arguments there. *regs
 * stays as it is. With `vectors` so do the other registers; without, fn does
 * not use them. From a handler.
 */
void tl_arch_call_args(void (*fn)(void), const struct tl_regs *regs, size_t stack, bool vectors);
/* Before the first such call; may be repeated. */
void tl_arch_call_args_init(void);

/* --- tier 4: jump -------------------------------------------------------- */

/* The bytes to write at plan->start for a detour at `at`: plan->changed of them. */
void tl_arch_patch_bytes(const struct tl_plan *plan, uintptr_t at, uint8_t *buf);

/* How a change from `from` to `to` may be written while threads run. */
enum tl_patch_how {
	TL_PATCH_ATOMIC, /* one aligned store of tl_arch_word bytes, then sync */
	TL_PATCH_SPIN, /* a self-jump of `spin_len` bytes first, then the tail, then the head */
	TL_PATCH_BYPASS, /* breakpoint first; only where no thread can hit it with the trap signal blocked */
	TL_PATCH_STOP, /* everyone stopped */
};
#define TL_WORD_MAX 8
extern const size_t tl_arch_word; /* bytes of the widest store that is seen whole; at most TL_WORD_MAX */
struct tl_patch_step {
	uint8_t spin[TL_WORD_MAX];
	size_t spin_len;
	uintptr_t word; /* TL_PATCH_ATOMIC: the aligned word that holds every byte that differs */
};
enum tl_patch_how tl_arch_patch_how(uintptr_t addr, const uint8_t *from, const uint8_t *to,
	size_t len, bool one_insn, struct tl_patch_step *step);

/* Is one aligned store seen whole by other processors' fetch? Vendor check and self-test. */
bool tl_arch_atomic_ok(void);
/* The knob: 1 take it to be so, -1 not (a self-test failed, the user says so), 0 ask the processor again. */
void tl_arch_atomic_set(int how);

/* Cycle counter for time stamps. Any context. */
uint64_t tl_arch_cycles(void);

#endif
