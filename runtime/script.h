/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/*
 * The API that compiled scripts see. A module is C made by crates/emit that
 * includes this header and nothing else, and is built with
 *
 *   -std=gnu11 -O2 -ffreestanding -fno-strict-aliasing -mgeneral-regs-only
 *   -DTL_MAXSTRING=N       (MAXSTRINGLEN; strings hold at most N - 1 bytes)
 *
 * The same module runs in the traced process (agent) and in the runner. What
 * is extern here is listed in exports.def and bound by the loader.
 *
 * The shape of a handler:
 *
 *   int h1(struct tl_probe *p, struct tl_regs *regs, struct tl_thread *self)
 *   {
 *           static const uint16_t locks[] = { 0, 3 };     // ascending numbers
 *           struct tl_run run;
 *           if (!tl_run_enter(&run, p->data, regs, self)) return 0;
 *           if (tl_run_lock(&run, locks, 2)) {            // only where globals are used
 *                   TL_STRING(s);                         // an empty string
 *                   if (!tl_run_spend(&run, 3)) goto out; // statements, for MAXACTION
 *                   run.place = "operator '/' at x.stp:3:9";
 *                   int64_t x = tl_div(&run, a, b);
 *                   if (run.error) goto out;              // after whatever may fail
 *           }
 *   out:    tl_run_leave(&run);                           // unlocks, reports the error
 *           return 0;
 *   }
 *
 * A handler whose globals are all sharded takes no lock. Functions that can
 * fail say so ("may fail": test run.error behind it); they then have done
 * nothing, and return 0 or the empty string, so that the test may also come
 * later. While run.error is set every further call is harmless.
 */
#ifndef TRAPLESS_RUNTIME_SCRIPT_H
#define TRAPLESS_RUNTIME_SCRIPT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <trapless/probe.h>
#include <trapless/wire.h>

#ifndef TL_MAXSTRING
#define TL_MAXSTRING 512
#endif

/* Frames of a stack that are shown. */
#ifndef TL_MAXBACKTRACE
#define TL_MAXBACKTRACE 32
#endif

#define tl_likely(x)   __builtin_expect(!!(x), 1)
#define tl_unlikely(x) __builtin_expect(!!(x), 0)

#define TL_QUICK inline __attribute__((always_inline))

/*
 * Bytes of stack that a call of a function declared here needs at most, the
 * home's part included (tests/runtime/stack.py). TL_STACK_TEXT: tl_sprintf,
 * tl_hist_print, tl_user_string_quoted, tl_thread_indent, tl_fp_to_string,
 * tl_string_to_fp. TL_STACK_WALK: tl_ustack_addresses, tl_ustack_print, tl_ustack_print_from,
 * tl_ustack_text, tl_usyms_print, tl_usyms_text. All others: TL_STACK_CALL.
 */
#define TL_STACK_CALL 480
#define TL_STACK_TEXT 1088
#define TL_STACK_WALK 1408

/* --- strings -------------------------------------------------------------- */

/*
 * `len` bytes and a NUL behind them. Strings made by TL_STRING have room for
 * TL_MAXSTRING - 1 bytes; results are cut there, and the cut is counted.
 */
struct tl_str {
	uint32_t len;
	char b[];
};

/* Bytes that a string takes in globals, keys and map entries. */
#define TL_STR_SIZE(max) (((max) + 4u + 7u) & ~7u)

/* A local string: `name` is a struct tl_str *, empty. */
#define TL_STRING(name)                                                                            \
	uint64_t name##_room[TL_STR_SIZE(TL_MAXSTRING) / 8];                                       \
	struct tl_str *const name = (struct tl_str *)name##_room;                                  \
	name->len = 0, name->b[0] = 0

/* A constant at file scope: `name` is a const struct tl_str object; use &name. */
#define TL_STR_CONST(name, text) static const struct tl_str name = {sizeof(text) - 1, {text}}

/* A number (s NULL) or a string: arguments of printf, keys of maps. */
struct tl_value {
	int64_t l;
	const struct tl_str *s;
};
#define TL_LONG(x)                                                                                 \
	{                                                                                          \
		(int64_t)(x), NULL                                                                 \
	}
#define TL_STR(x)                                                                                  \
	{                                                                                          \
		0, (x)                                                                             \
	}

/* --- session, as this address space sees it (private memory) -------------- */

struct tl_view;
struct tl_value_text {
	char *text;
	uint32_t len, room;
};
struct tl_ids {
	uint32_t tid, pid;
};
struct tl_view_ops {
	/* Slow path of the first hit of a thread: the block for it, or NULL. May be NULL in the runner. */
	struct tl_block *(*join)(struct tl_view *v, struct tl_thread *self);
	/* Copy memory of the traced program. Returns 0, or -1 when any byte cannot be read. */
	int (*read)(struct tl_view *v, void *dst, uint64_t addr, uint32_t size);
	/* The other way round; a number of 2, 4 or 8 bytes at once. */
	int (*write)(struct tl_view *v, uint64_t addr, const void *src, uint32_t size);
	/* Name of the function around addr into buf (NUL-terminated); bytes, 0: unknown. May be NULL. */
	uint32_t (*symbol)(struct tl_view *v, uint64_t addr, char *buf, uint32_t room,
		uint64_t *offset, uint64_t *size);
	/* Name of the image around addr. May be NULL. */
	uint32_t (*image)(struct tl_view *v, uint64_t addr, char *buf, uint32_t room);
	/* The source file of the code at addr, likewise, and the line in it. May be NULL. */
	uint32_t (*line)(
		struct tl_view *v, uint64_t addr, char *buf, uint32_t room, uint32_t *line);
	/* The rule that finds the caller of code at addr, NULL: none is known. May be NULL. */
	const struct tl_tap_frame *(*frame)(struct tl_view *v, uint64_t addr);
	/* pc, or what it runs a copy of. May be NULL. */
	uint64_t (*original)(struct tl_view *v, uint64_t pc);
	/* A moment's rest while waiting for a lock. May be NULL. */
	void (*relax)(struct tl_view *v);
	/* Fill in the running thread's comm, which is still empty. May be NULL. */
	void (*name)(struct tl_view *v, struct tl_block *b);
	/* Some threads run on others' blocks (view->guests): whose runs, where the block's owner is *who. May be NULL. */
	void (*ids)(struct tl_view *v, struct tl_ids *who);
	/* What /proc tells (enum tl_fact) of process `of`, 0: the running thread's. False: not told. May be NULL. */
	bool (*fact)(struct tl_view *v, uint32_t what, int64_t of, uint64_t value[2]);
	/* Send the running thread a signal. False: it cannot be. May be NULL. */
	bool (*raise)(struct tl_view *v, int64_t sig);
	/* Where no target can change it: keep a command's text for tl_command(). Its number, or -1. NULL: nobody does. */
	int (*command)(struct tl_view *v, const struct tl_str *text);
	/* What $value stands for in the handler that runs, NULL: nothing. May be NULL. */
	struct tl_value_text *(*value)(struct tl_view *v);
	/* The own ring is full: has it been read now? NULL: somebody else reads it. */
	bool (*make_room)(struct tl_view *v);
};

struct tl_view {
	struct tl_session *session; /* start of the shared memory */
	uint32_t local_off; /* where a struct tl_thread keeps this view's block pointer */
	uint32_t outside; /* runner: memory is another process's */
	const volatile uint32_t *on; /* nonzero: handlers run */
	const volatile uint32_t *guests; /* nonzero: a block may be used by another than its owner, see ops->ids */
	struct tl_block *own; /* runner: of all its handlers, see tl_view_self() */
	uint8_t *globals;
	uint8_t *blocks;
	uint8_t *locks;
	uint64_t size, globals_size;
	uint32_t block_stride, nblocks, nlocks;
	uint32_t shard_off, shard_size;
	/* records: see wire.h */
	uint8_t *chunks; /* number 2 on */
	uint32_t *owners;
	uint32_t ring_off, own_size, chunk_size, chunk_shift, nchunks, chunks_most;
	uint32_t max_string, max_action, max_nesting, max_errors;
	uint64_t lock_cycles; /* how long a lock is waited for */
	const struct tl_view_ops *ops;
	/* by IMAGES number, each image_words words: what is added to ELF vaddrs, the first
	 * address, the end (the same: not mapped here) ...; NULL in the runner */
	const uint64_t *images;
	uint32_t nimages, image_words;
	void *home; /* the home's own */
};

/* What a probe's `data` points at. */
struct tl_env {
	struct tl_view *view;
	const volatile uint32_t *on; /* the view's, for handlers that only count */
	uint32_t local_off, shard_off;
	uint32_t number; /* index in PROBES */
	uint32_t kind; /* enum tl_tap_probe_kind */
	uint32_t image; /* index in IMAGES of the file that it stands in, or TL_NONE */
	uint64_t bias; /* ... of the copy that it stands in */
	const char *point; /* pp() */
	const char *func; /* probefunc(), "" unknown */
	const char *name; /* pn(), "": as `point` */
	uint64_t hits_at; /* its count of hits in a block, see tl_hits_at() */
	bool at_syscall; /* TL_TAP_PROBE_SYSCALL */
};

/* --- one run of a handler -------------------------------------------------- */

#define TL_ERROR_ROOM 256

struct tl_run {
	struct tl_view *view;
	struct tl_block *block;
	const struct tl_env *env;
	struct tl_regs *regs; /* NULL in the runner */
	const char *error; /* NULL, or text: message of the run-time error */
	const char *place; /* where we are: "identifier 'x' at file:line:column", or NULL */
	struct tl_ret_call *call; /* RETURN probes */
	const uint16_t *locks; /* held */
	uint32_t nlocks;
	int32_t budget; /* statements left */
	uint32_t depth; /* of function calls */
	struct tl_run *whole; /* itself; NULL in a quick half, which gives its run to nobody */
	struct tl_match *match; /* where the latest =~ is kept for matched(), or NULL */
	uint64_t time; /* of its records; 0: it has written none */
	char text[TL_ERROR_ROOM];
};

/* cold halves, in run.c */
struct tl_block *tl_run_join(struct tl_view *v, struct tl_thread *self);
void tl_run_recover(struct tl_view *v, struct tl_block *b);
bool tl_run_lock_slow(struct tl_run *run, const uint16_t *locks, uint32_t n);
void tl_run_unlock(struct tl_run *run);
void tl_run_yield(struct tl_lock *l);
void tl_run_report(struct tl_run *run);
void tl_run_printed(struct tl_run *run); /* ring.c: its records are complete */

static inline struct tl_block *tl_block_get(struct tl_view *v, struct tl_thread *self)
{
	struct tl_block *b = *(struct tl_block **)((char *)self + v->local_off);

	return tl_likely(b) ? b : tl_run_join(v, self);
}

/* Is the session on? For handlers that only touch shards and need no run. */
static inline struct tl_block *tl_count_enter(const struct tl_env *env, struct tl_thread *self)
{
	struct tl_view *v = env->view;

	return tl_likely(*v->on) ? tl_block_get(v, self) : NULL;
}

/* The runner has a look at the conditions of probes. Behind the change itself; nobody reads first whether it knows. */
static inline void tl_conditions_moved(const struct tl_view *v)
{
	__atomic_store_n(&v->session->conditions, 1, __ATOMIC_RELEASE);
}

/*
 * The same for a handler that keeps nothing on its stack: NULL on a thread's
 * first hit, too. It ends in tl_count_again(), which joins the thread and calls
 * it anew: so no register need be saved for the call.
 */
static inline struct tl_block *tl_count_at_once(const struct tl_env *env, struct tl_thread *self)
{
	return tl_likely(*env->on) ? *(struct tl_block **)((char *)self + env->local_off) : NULL;
}
int tl_count_again(
	struct tl_probe *p, struct tl_regs *regs, struct tl_thread *self, tl_pre_fn handler);

/* With TL_USES_HITS: where a block counts the hits of a probe. */
static inline uint64_t tl_hits_at(const struct tl_view *v, uint32_t probe)
{
	return v->shard_off + (uint64_t)probe * sizeof(uint64_t);
}

/* What a handler's data says of a probe and of the view it is in, which is complete. */
static inline void tl_env_fill(struct tl_env *env, struct tl_view *v, uint32_t number)
{
	env->view = v;
	env->on = v->on;
	env->local_off = v->local_off;
	env->shard_off = v->shard_off;
	env->number = number;
	env->image = TL_NONE;
	env->hits_at = tl_hits_at(v, number);
}

/* Of a return probe at the return. */
static inline void tl_count_hit(struct tl_block *b, const struct tl_env *env)
{
	++*(uint64_t *)((char *)b + env->hits_at);
}

/*
 * Returns of system calls (x86-64): a probe at the instruction notes the call, and one behind it asks whether it was
 * noted, once for each of the script's probes (`nth`, below 64). False: it is no return. To be called in handlers.
 */
void tl_syscall_note(const struct tl_env *env, struct tl_thread *self, const struct tl_regs *regs,
	uint64_t number);
bool tl_syscall_noted(const struct tl_env *env, struct tl_thread *self, const struct tl_regs *regs,
	uint32_t nth, uint32_t *number);
/* Behind either: which of the thread's calls that is; no two have the same. */
uint64_t tl_syscall_serial(const struct tl_run *run);

/* What any run has. */
static TL_QUICK void tl_run_begin(struct tl_run *run, const struct tl_env *env, struct tl_block *b,
	struct tl_regs *regs)
{
	run->view = env->view;
	run->block = b;
	run->env = env;
	run->regs = regs;
	run->error = NULL;
	run->call = NULL;
	run->time = 0;
}

/* False: do nothing, return 0 (and do not call tl_run_leave). */
static inline bool tl_run_enter(
	struct tl_run *run, const struct tl_env *env, struct tl_regs *regs, struct tl_thread *self)
{
	struct tl_view *v = env->view;
	struct tl_block *b = tl_count_enter(env, self);

	if (tl_unlikely(!b))
		return false;
	if (tl_unlikely(b->holding))
		tl_run_recover(v, b);
	tl_run_begin(run, env, b, regs);
	run->place = NULL;
	run->match = NULL;
	run->nlocks = 0;
	run->budget = (int32_t)v->max_action;
	run->depth = 0;
	run->whole = run;
	return true;
}

/*
 * A handler of few words has a quick half in front, which calls nothing, so that its run stays in registers: it does
 * nothing at all, and the whole handler runs instead, where anything but the most common has to be done (a thread's
 * first hit, a lock that is not free, an element that is to be made, an error). The half sets run->error then
 * (tl_run_again()), before it has changed anything but locals.
 *
 *   int h1(struct tl_probe *p, struct tl_regs *regs, struct tl_thread *self)
 *   {
 *           struct tl_run run;
 *           if (!tl_quick_enter(&run, p->data, regs, self)) return h1_whole(p, regs, self);
 *           if (!tl_quick_lock(&run, 0)) return h1_whole(p, regs, self); // only where a global is used
 *           ...
 *   out:    tl_count_hit(run.block, run.env);
 *           tl_quick_unlock(&run, 0);
 *           return 0;
 *   again:  tl_quick_give_back(&run, 0);
 *           return h1_whole(p, regs, self);
 *   }
 */
static TL_QUICK bool tl_quick_enter(
	struct tl_run *run, const struct tl_env *env, struct tl_regs *regs, struct tl_thread *self)
{
	struct tl_block *b = tl_count_at_once(env, self);

	if (tl_unlikely(!b || b->holding))
		return false;
	tl_run_begin(run, env, b, regs);
	run->whole = NULL;
	return true;
}

/* A quick half has come to where the whole handler is asked. */
static TL_QUICK int64_t tl_run_again(struct tl_run *run)
{
	run->error = "again";
	return 0;
}

/* The same for the two halves of a RETURN probe. */
static inline bool tl_run_enter_call(
	struct tl_run *run, struct tl_ret_call *c, struct tl_regs *regs, struct tl_thread *self)
{
	if (!tl_run_enter(run, c->rp->data, regs, self))
		return false;
	run->call = c;
	return true;
}

/* The same out of line, for what is rare (begin, end and timers, handlers behind a quick half): quicker to compile. */
bool tl_run_enter_slow(struct tl_run *run, const struct tl_env *env, struct tl_regs *regs,
	struct tl_thread *self);
void tl_run_leave_slow(struct tl_run *run);

static inline struct tl_lock *tl_lock_at(const struct tl_view *v, uint32_t i)
{
	return (struct tl_lock *)v->locks + i;
}

/* Lock globals; false: not had in time (counted), skip the body. Once a run. */
static inline bool tl_run_lock(struct tl_run *run, const uint16_t *locks, uint32_t n)
{
	struct tl_block *b = run->block;
	uint32_t owner = 0, me = b->owner;

	if (n != 1 || locks[0] >= run->view->nlocks)
		return tl_run_lock_slow(run, locks, n);
	*(volatile uint32_t *)&b->holding = 1;
	if (tl_unlikely(!__atomic_compare_exchange_n(&tl_lock_at(run->view, locks[0])->owner,
		    &owner, me, false, __ATOMIC_ACQUIRE, __ATOMIC_RELAXED)))
		return tl_run_lock_slow(run, locks, n);
	run->locks = locks;
	run->nlocks = 1;
	return true;
}

/* Before somebody who waits is let go first. */
static inline void tl_run_give_back(const struct tl_run *run, struct tl_lock *l)
{
	/* the runner may have broken it, and somebody else taken it */
	if (tl_likely(*(volatile uint32_t *)&l->owner == run->block->owner)) {
		l->turns++;
		__atomic_store_n(&l->owner, 0, __ATOMIC_RELEASE);
	}
	__asm__ volatile("" ::: "memory");
	*(volatile uint32_t *)&run->block->holding = 0;
}

static inline void tl_run_unlock_one(const struct tl_run *run, struct tl_lock *l)
{
	tl_run_give_back(run, l);
	if (tl_unlikely(*(volatile uint32_t *)&l->wanted))
		tl_run_yield(l);
}

static TL_QUICK bool tl_quick_lock(const struct tl_run *run, uint32_t lock)
{
	const struct tl_view *v = run->view;
	struct tl_block *b = run->block;
	uint32_t owner = 0;

	if (tl_unlikely(lock >= v->nlocks))
		return false;
	*(volatile uint32_t *)&b->holding = 1;
	if (tl_likely(__atomic_compare_exchange_n(&tl_lock_at(v, lock)->owner, &owner, b->owner,
		    false, __ATOMIC_ACQUIRE, __ATOMIC_RELAXED)))
		return true;
	*(volatile uint32_t *)&b->holding = 0;
	return false;
}

static TL_QUICK void tl_quick_unlock(const struct tl_run *run, uint32_t lock)
{
	tl_run_unlock_one(run, tl_lock_at(run->view, lock));
}

/* The same where the whole handler takes it at once. */
static TL_QUICK void tl_quick_give_back(const struct tl_run *run, uint32_t lock)
{
	tl_run_give_back(run, tl_lock_at(run->view, lock));
}

/* Once it has no lock. */
static inline void tl_run_end(struct tl_run *run)
{
	if (tl_unlikely(run->error != NULL))
		tl_run_report(run);
	if (run->time)
		tl_run_printed(run);
}

static inline void tl_run_leave(struct tl_run *run)
{
	if (run->nlocks)
		tl_run_unlock(run);
	tl_run_end(run);
}

/* Of a handler that asks for this lock alone. */
static inline void tl_run_leave_one(struct tl_run *run, uint32_t lock)
{
	if (tl_likely(run->nlocks))
		tl_run_unlock_one(run, tl_lock_at(run->view, lock));
	tl_run_end(run);
}

/* Raise a run-time error (the first one stays). `fmt`: %s (const char *), %d (int64_t), %p (uint64_t), %%. */
void tl_run_error(struct tl_run *run, const char *fmt, ...);

void tl_run_spent(struct tl_run *run); /* MAXACTION exceeded */
/* n statements are about to run. May fail (false). */
static inline bool tl_run_spend(struct tl_run *run, int32_t n)
{
	if (tl_unlikely((run->budget -= n) < 0)) {
		tl_run_spent(run);
		return false;
	}
	return true;
}

void tl_run_nested(struct tl_run *run); /* MAXNESTING exceeded */
/* Around the body of a script function. May fail (false: return at once, no tl_call_leave). */
static inline bool tl_call_enter(struct tl_run *run)
{
	if (tl_unlikely(run->depth >= run->view->max_nesting)) {
		tl_run_nested(run);
		return false;
	}
	run->depth++;
	return true;
}
static inline void tl_call_leave(struct tl_run *run)
{
	run->depth--;
}

/* catch: the message of the error (without its place) into msg (may be NULL); the error is gone. */
void tl_run_catch(struct tl_run *run, struct tl_str *msg);

/* --- numbers --------------------------------------------------------------- */

void tl_run_div0(struct tl_run *run);

static inline int64_t tl_add(int64_t a, int64_t b)
{
	return (int64_t)((uint64_t)a + (uint64_t)b);
}
static inline int64_t tl_sub(int64_t a, int64_t b)
{
	return (int64_t)((uint64_t)a - (uint64_t)b);
}
static inline int64_t tl_mul(int64_t a, int64_t b)
{
	return (int64_t)((uint64_t)a * (uint64_t)b);
}
static inline int64_t tl_neg(int64_t a)
{
	return (int64_t)(0 - (uint64_t)a);
}
static inline int64_t tl_shl(int64_t a, int64_t n)
{
	return (int64_t)((uint64_t)a << (n & 63));
}
static inline int64_t tl_shr(int64_t a, int64_t n)
{
	return a >> (n & 63);
}
static inline int64_t tl_shru(int64_t a, int64_t n)
{
	return (int64_t)((uint64_t)a >> (n & 63));
}
/* May fail. Own code on 32-bit machines: no libgcc in a module. */
int64_t tl_div_any(int64_t a, int64_t b);
int64_t tl_mod_any(int64_t a, int64_t b);
static inline int64_t tl_div(struct tl_run *run, int64_t a, int64_t b)
{
	if (tl_unlikely(!b)) {
		tl_run_div0(run);
		return 0;
	}
	return b == -1 ? tl_neg(a) : tl_div_any(a, b);
}
static inline int64_t tl_mod(struct tl_run *run, int64_t a, int64_t b)
{
	if (tl_unlikely(!b)) {
		tl_run_div0(run);
		return 0;
	}
	return b == -1 ? 0 : tl_mod_any(a, b);
}

/* v cut to size bytes. */
static inline int64_t tl_extend(uint64_t v, uint32_t size, bool is_signed)
{
	unsigned shift = size >= 8 ? 0 : 64 - 8 * size;

	if (is_signed)
		return (int64_t)(v << shift) >> shift;
	return (int64_t)(v << shift >> shift);
}

/* The low bytes of a number in the other order, or in the machine's own, as unsigned. */
static inline int64_t tl_swapped(int64_t v, uint32_t size)
{
	return (int64_t)(__builtin_bswap64((uint64_t)v) >> (64 - 8 * size));
}
static inline int64_t tl_cut(int64_t v, uint32_t size)
{
	return (int64_t)((uint64_t)v << (64 - 8 * size) >> (64 - 8 * size));
}
#if __BYTE_ORDER__ == __ORDER_BIG_ENDIAN__
#define tl_big_endian	 tl_cut
#define tl_little_endian tl_swapped
#else
#define tl_big_endian	 tl_swapped
#define tl_little_endian tl_cut
#endif

/* --- floating point ----------------------------------------------------------
 * 64-bit floats (IEEE 754) whose bits are a long, by whole numbers only.
 */
/* Roundings of tl_fp_to_long(); others cut towards 0. */
enum { TL_FP_NEAREST, TL_FP_CUT, TL_FP_DOWN, TL_FP_UP, TL_FP_NEAREST_AWAY, TL_FP_ODD = 6 };
int64_t tl_fp_add(int64_t a, int64_t b);
int64_t tl_fp_sub(int64_t a, int64_t b);
int64_t tl_fp_mul(int64_t a, int64_t b);
int64_t tl_fp_div(int64_t a, int64_t b);
int64_t tl_fp_rem(int64_t a, int64_t b); /* of the nearest whole quotient, as C's remainder() */
int64_t tl_fp_sqrt(int64_t v);
bool tl_fp_eq(int64_t a, int64_t b);
bool tl_fp_lt(int64_t a, int64_t b);
int64_t tl_fp_of_long(int64_t v);
int64_t tl_fp_of_fp32(int64_t v); /* the bits of a 32-bit float */
int64_t tl_fp_to_long(int64_t v, int64_t mode); /* INT64_MIN: does not fit */
/* "12.50" of 12.5 and 2; "inf", "-inf", "nan". */
void tl_fp_to_string(struct tl_run *run, struct tl_str *dst, int64_t v, int64_t precision);
int64_t tl_string_to_fp(struct tl_run *run, const struct tl_str *s); /* may fail */

/* --- string functions -------------------------------------------------------
 * dst always has room for TL_MAXSTRING bytes and may be one of the sources, but
 * not for tl_str_replace(), tl_text_str(), tl_text_strn() and tl_sprintf().
 */
void tl_str_set(struct tl_run *run, struct tl_str *dst, const struct tl_str *src);
void tl_str_set_c(struct tl_run *run, struct tl_str *dst, const char *text);
void tl_str_cat(
	struct tl_run *run, struct tl_str *dst, const struct tl_str *a, const struct tl_str *b);
int tl_str_cmp(const struct tl_str *a, const struct tl_str *b); /* <0, 0, >0 as strcmp */
static inline int64_t tl_strlen(const struct tl_str *s)
{
	return s->len;
}
void tl_substr(struct tl_run *run, struct tl_str *dst, const struct tl_str *s, int64_t start,
	int64_t length);
int64_t tl_isinstr(const struct tl_str *s, const struct tl_str *sub);
int64_t tl_stringat(struct tl_run *run, const struct tl_str *s, int64_t pos); /* may fail */
int64_t tl_strtol(const struct tl_str *s, int64_t base);
int64_t tl_strpos(const struct tl_str *s, const struct tl_str *sub); /* -1: not there */
void tl_str_replace(struct tl_run *run, struct tl_str *dst, const struct tl_str *s,
	const struct tl_str *old, const struct tl_str *now);
void tl_text_str(struct tl_run *run, struct tl_str *dst, const struct tl_str *s);
/* text_strn(): len 0: as long as may be. */
void tl_text_strn(
	struct tl_run *run, struct tl_str *dst, const struct tl_str *s, int64_t len, bool quoted);
/*
 * By a list "HEX NAME|HEX NAME|...": the name of a value, false and "" without
 * one; flags as "A|B|0x40", what has no name as a number. All zero is a flag, too.
 */
bool tl_name_str(struct tl_run *run, struct tl_str *dst, uint64_t value, const char *list);
void tl_flags_str(struct tl_run *run, struct tl_str *dst, uint64_t flags, const char *list);
int64_t tl_name_value(const struct tl_str *name, const char *list); /* the other way round; -1: none has it */
/* tokenize(): input not empty starts anew, empty goes on with the thread's latest. */
void tl_tokenize(struct tl_run *run, struct tl_str *dst, const struct tl_str *input,
	const struct tl_str *delim);
/* sprintf(); fmt is a script's format, checked by the compiler. */
void tl_sprintf(struct tl_run *run, struct tl_str *dst, const char *fmt,
	const struct tl_value *args, uint32_t n);

/* --- regular expressions ------------------------------------------------------
 * The compiler makes the tables (crates/sema/src/regex). `next` has a row of
 * `width` entries for each state: one a class of bytes, the last one for the
 * end of the text; TL_REGEX_FAILED and TL_REGEX_MATCHED have no row.
 */
#define TL_REGEX_FAILED  0xffff
#define TL_REGEX_MATCHED 0xfffe

/* What leads from one op to others, see groups.rs there. */
enum tl_regex_code {
	TL_REGEX_RANGE,
	TL_REGEX_SPLIT,
	TL_REGEX_SLOT,
	TL_REGEX_START,
	TL_REGEX_END,
	TL_REGEX_MATCH,
	TL_REGEX_FAIL,
};
struct tl_regex_op {
	uint8_t code, low, high;
	uint16_t next, other; /* other: of SLOT the slot's number */
};

struct tl_regex {
	const uint8_t *classes; /* 256 */
	const uint16_t *next;
	const struct tl_regex_op *ops; /* NULL where no handler asks for groups */
	uint16_t width, start;
	uint16_t nops, first, groups;
	uint16_t waits; /* ops at which a byte is waited for */
};

/* The latest match of a handler, with `room` for whatever regex of the module. */
struct tl_match {
	const struct tl_regex *regex; /* NULL: there was none, or it failed */
	bool found; /* the slots are computed */
	struct tl_str *text;
	uint32_t *room;
};

/* Keep matches of this run; `words` is the room that the compiler has computed. */
#define TL_KEEP_MATCH(run, words)                                                                  \
	uint32_t match_room[words];                                                                \
	TL_STRING(match_text);                                                                     \
	struct tl_match match = {NULL, false, match_text, match_room};                             \
	(run)->match = &match

/* s =~ regex: 1 or 0. Steps: one a byte. */
int64_t tl_regex_match(
	struct tl_run *run, const struct tl_regex *regex, const struct tl_str *s);
/* Group n of the latest match, "" when it took no part. May fail. Steps: bytes times ops. */
void tl_matched(struct tl_run *run, struct tl_str *dst, int64_t n);
int64_t tl_ngroups(struct tl_run *run); /* may fail */

/* --- scalar globals ----------------------------------------------------------
 * `off`: tl_tap_global.offset. Under the global's lock, unless sharded.
 */
static inline int64_t *tl_global_long(const struct tl_run *run, uint32_t off)
{
	return (int64_t *)(run->view->globals + off);
}
/* A string global is read into a local first; its memory is shared. */
void tl_global_str_get(struct tl_run *run, uint32_t off, struct tl_str *dst);
void tl_global_str_set(struct tl_run *run, uint32_t off, const struct tl_str *src);

/*
 * Sharded long: add in the thread's own block, no lock. Reading sums all
 * blocks; setting moves the base (which block 0 holds), so that the sum is v.
 */
static inline void tl_shard_add(
	const struct tl_view *v, struct tl_block *b, uint32_t off, int64_t d)
{
	int64_t *cell = (int64_t *)((char *)b + v->shard_off + off);

	*(volatile int64_t *)cell = tl_add(*cell, d);
}
/* The same in a handler's words. */
static inline void tl_count_add(
	const struct tl_env *env, struct tl_block *b, uint32_t off, int64_t d)
{
	int64_t *cell = (int64_t *)((char *)b + env->shard_off + off);

	*cell = tl_add(*cell, d);
}
int64_t tl_shard_get(struct tl_run *run, uint32_t off);
void tl_shard_set(struct tl_run *run, uint32_t off, int64_t v);

/* --- statistics ------------------------------------------------------------- */

/*
 * In globals, map entries and shards. Buckets follow when hist says so: 128
 * for @hist_log; (high - low) / step + 3 for @hist_linear (low .. high, then
 * below in the first and above in the last one).
 * `epoch`: sharded only; a cell of another epoch than block 0's is empty.
 */
struct tl_stat {
	int64_t count, sum, min, max;
	uint64_t epoch;
	int64_t mean; /* of the samples << shift, as it was rounded on the way; where hist says variance */
	int64_t spread; /* what is to be divided by count - 1 */
	uint64_t reserved;
	int64_t bucket[];
};

#define TL_HIST_LOG_BUCKETS 128
struct tl_hist {
	uint8_t kind; /* 0 none, 1 log, 2 linear */
	uint8_t variance; /* keep what @variance needs */
	uint8_t shift; /* the samples' scale for it */
	uint8_t kept; /* as it is printed: empty buckets shown beside full ones; TL_HIST_ALL: all of them */
	uint32_t buckets; /* 0, TL_HIST_LOG_BUCKETS, or (high - low) / step + 3, at most 4096 */
	int64_t low, high, step;
};
#define TL_HIST_KEPT 2
#define TL_HIST_ALL  255
#define TL_STAT_SIZE(buckets) (64u + 8u * (buckets))

enum tl_stat_op { TL_COUNT, TL_SUM, TL_MIN, TL_MAX, TL_AVG, TL_VARIANCE };

/* Buckets and @variance; the sample is counted already. */
void tl_stat_add_more(struct tl_stat *s, const struct tl_hist *h, int64_t v);
/* One sample into the statistic at `s`. */
static inline void tl_stat_add(struct tl_stat *s, const struct tl_hist *h, int64_t v)
{
	if (tl_unlikely(!s->count)) {
		s->sum = s->min = s->max = v;
	} else {
		s->sum = tl_add(s->sum, v);
		if (v < s->min)
			s->min = v;
		if (v > s->max)
			s->max = v;
	}
	s->count = tl_add(s->count, 1);
	if (h->kind || h->variance)
		tl_stat_add_more(s, h, v);
}
static inline struct tl_stat *tl_global_stat(const struct tl_run *run, uint32_t off)
{
	return (struct tl_stat *)(run->view->globals + off);
}
/* Sharded: add to the own cell; sum all cells into `sum` (TL_STAT_LOCAL); forget all. */
void tl_shard_stat_renew(struct tl_stat *s, const struct tl_hist *h, uint64_t epoch);
static inline void tl_shard_stat_add(const struct tl_view *v, struct tl_block *b, uint32_t off,
	const struct tl_hist *h, int64_t x)
{
	const struct tl_stat *base = (struct tl_stat *)(v->blocks + v->shard_off + off);
	struct tl_stat *s = (struct tl_stat *)((char *)b + v->shard_off + off);
	uint64_t epoch = *(const volatile uint64_t *)&base->epoch; /* its low word alone changes */

	if (tl_unlikely(s->epoch != epoch))
		tl_shard_stat_renew(s, h, epoch);
	tl_stat_add(s, h, x);
}
void tl_shard_stat_get(
	struct tl_run *run, uint32_t off, const struct tl_hist *h, struct tl_stat *sum);
void tl_shard_stat_clear(struct tl_run *run, uint32_t off);
void tl_stat_clear(struct tl_stat *s, const struct tl_hist *h);

/* A local statistic with room for n buckets (n a constant). */
#define TL_STAT_LOCAL(name, n)                                                                     \
	uint64_t name##_room[TL_STAT_SIZE(n) / 8];                                                 \
	struct tl_stat *const name = (struct tl_stat *)name##_room;                                \
	name->count = 0

/* @count ... (TL_VARIANCE: a number by which elements of one array can be sorted). Of an empty statistic only @count and @sum are 0; the others fail. s may be NULL: empty. */
int64_t tl_stat_get(struct tl_run *run, const struct tl_stat *s, enum tl_stat_op op);
/*
 * @variance: SystemTap's, by Welford's way in whole numbers. Of a statistic that
 * is no element of an array (`whole`) the rounded mean is corrected at the end.
 */
int64_t tl_stat_variance(
	struct tl_run *run, const struct tl_stat *s, const struct tl_hist *h, bool whole);
/* print(@hist_...(s)) and the count of one bucket (may fail). */
void tl_hist_print(struct tl_run *run, const struct tl_stat *s, const struct tl_hist *h);
int64_t tl_hist_bucket(
	struct tl_run *run, const struct tl_stat *s, const struct tl_hist *h, int64_t n);

/* --- maps: associative arrays ------------------------------------------------
 *
 * The compiler makes one constant of this per array; never shared, so its
 * numbers can be trusted. In the globals area at `offset`:
 *
 *   struct tl_map_head | uint32_t bucket[buckets], padded to 8 | entry[capacity]
 *
 *   entry: 16 bytes of links | keys in order (number 8, string TL_STR_SIZE) | value
 *
 *   buckets   = smallest power of two >= capacity; of them TL_MAP_START at most are in use from the start
 *   key_off[] = from 16 on
 *   value_off = behind the last key
 *   stride    = value_off + 8 (long) / TL_STR_SIZE(TL_MAXSTRING) / TL_STAT_SIZE(hist.buckets)
 *   size      = 32 + ((4 * buckets + 7) & ~7) + capacity * stride
 *
 * tl_global_size() in session.h computes the same from a tl_tap_global.
 * All zero bytes are an empty map, an empty statistic, 0 and "".
 *
 * A large array costs the memory of the elements it has: entries are used from the front, and so are buckets, one more
 * for each element beyond those there are (linear hashing, Litwin 1980). The new one takes its part of one other
 * bucket's, so no handler ever waits while a table is made anew. One of the first buckets is marked when it has been
 * split: so what is in an array that has not grown is found without a look at the head.
 */
#define TL_MAP_HEAD  32u
#define TL_MAP_LINKS 16u
#define TL_MAP_START 2048u
#define TL_MAP_SPLIT 0x80000000u /* in a bucket, beside the number of an entry */
#define TL_MAX_KEYS  16

struct tl_map_head {
	uint32_t count; /* entries in use */
	uint32_t used; /* entries ever used */
	uint32_t free; /* chain of deleted ones */
	uint32_t first, last; /* oldest, newest */
	uint32_t sorts; /* how often the order links were made anew */
	uint32_t grown; /* buckets in use beyond the first mask + 1 */
	uint32_t wide; /* of the hash's bits those that tell them apart, or 0: as at the start */
};

/* Who fills it: what the message of an overflow says. */
enum tl_map_limit {
	TL_MAP_MAXENTRIES, /* -D MAXMAPENTRIES */
	TL_MAP_SIZED, /* declared as name[N] */
	TL_MAP_MEMORY, /* its share of -D MAPMEMORY */
};

struct tl_map {
	const char *name;
	uint32_t offset;
	uint32_t capacity;
	uint32_t mask; /* buckets in use from the start - 1 */
	uint32_t entries; /* offset of entry[0] from `offset` */
	uint32_t stride;
	uint32_t value_off;
	uint8_t nkeys;
	uint8_t value; /* enum tl_tap_value */
	uint8_t wrap;
	uint8_t one_long; /* exactly one key, a number */
	uint8_t key_types[TL_MAX_KEYS];
	uint32_t key_off[TL_MAX_KEYS];
	struct tl_hist hist;
	uint32_t limit; /* enum tl_map_limit */
	uint32_t most; /* buckets - 1 */
};

/* Any keys. get of what is not there: 0, "". set and add may fail (array overflow). */
int64_t tl_map_get(struct tl_run *run, const struct tl_map *m, const struct tl_value *keys);
void tl_map_set(struct tl_run *run, const struct tl_map *m, const struct tl_value *keys, int64_t v);
int64_t tl_map_add(struct tl_run *run, const struct tl_map *m, const struct tl_value *keys,
	int64_t d); /* new value */
void tl_map_get_str(struct tl_run *run, const struct tl_map *m, const struct tl_value *keys,
	struct tl_str *dst);
void tl_map_set_str(struct tl_run *run, const struct tl_map *m, const struct tl_value *keys,
	const struct tl_str *v);
void tl_map_stat_add(struct tl_run *run, const struct tl_map *m, const struct tl_value *keys,
	int64_t v); /* <<< */
struct tl_stat *tl_map_stat(
	struct tl_run *run, const struct tl_map *m, const struct tl_value *keys); /* NULL: none */
bool tl_map_has(struct tl_run *run, const struct tl_map *m, const struct tl_value *keys);
void tl_map_delete(struct tl_run *run, const struct tl_map *m, const struct tl_value *keys);
void tl_map_clear(struct tl_run *run, const struct tl_map *m);

/*
 * One key, a number (m->one_long): the quick ones. Where the key is the first in its bucket, as
 * it nearly always is, nothing is called, and what describes the array is constants of the code.
 */
int64_t tl_map_get1_slow(struct tl_run *run, const struct tl_map *m, int64_t key);
void tl_map_set1_slow(struct tl_run *run, const struct tl_map *m, int64_t key, int64_t v);
int64_t tl_map_add1_slow(struct tl_run *run, const struct tl_map *m, int64_t key, int64_t d);
void tl_map_stat_add1_slow(struct tl_run *run, const struct tl_map *m, int64_t key, int64_t v);

/* The most significant half of the key times 2^64 / phi (Knuth's multiplicative hashing). */
static inline uint32_t tl_map_hash1(int64_t key)
{
	return (uint32_t)(((uint64_t)key * 0x9e3779b97f4a7c15ull) >> 32);
}

/* The bucket of this hash; whatever the head says, there is such a one. */
static inline uint32_t tl_map_bucket(
	const struct tl_map *m, const struct tl_map_head *h, uint32_t hash)
{
	uint32_t n;

	if (m->most == m->mask || !h->wide)
		return hash & m->mask;
	n = hash & h->wide & m->most;
	if (n > m->mask + h->grown)
		n &= h->wide >> 1; /* that one is not in use yet */
	return n;
}

/* The first entry in the bucket of this hash, from 0; what is no entry is no smaller than the array's capacity. */
static TL_QUICK uint32_t tl_map_front(const struct tl_map *m, const uint8_t *map, uint32_t hash)
{
	const uint32_t *buckets = (const uint32_t *)(map + TL_MAP_HEAD);
	uint32_t n = buckets[hash & m->mask];

	if (m->most != m->mask && tl_unlikely(n & TL_MAP_SPLIT))
		n = buckets[tl_map_bucket(m, (const struct tl_map_head *)map, hash)] & ~TL_MAP_SPLIT;
	return n - 1;
}

/* The value of the first entry in the key's bucket, NULL where that has another key. */
static inline void *tl_map_first1(const struct tl_run *run, const struct tl_map *m, int64_t key)
{
	uint8_t *map = run->view->globals + m->offset, *e;
	uint32_t n = tl_map_front(m, map, tl_map_hash1(key));

	if (tl_unlikely(n >= m->capacity))
		return NULL;
	e = map + m->entries + (uint64_t)n * m->stride;
	return tl_likely(*(int64_t *)(e + TL_MAP_LINKS) == key) ? e + m->value_off : NULL;
}

static inline int64_t tl_map_get1(struct tl_run *run, const struct tl_map *m, int64_t key)
{
	const int64_t *v = tl_map_first1(run, m, key);

	return tl_likely(v) ? *v : tl_map_get1_slow(run, m, key);
}

static inline void tl_map_set1(struct tl_run *run, const struct tl_map *m, int64_t key, int64_t x)
{
	int64_t *v = tl_map_first1(run, m, key);

	if (tl_likely(v))
		*v = x;
	else
		tl_map_set1_slow(run, m, key, x);
}

static inline int64_t tl_map_add1(
	struct tl_run *run, const struct tl_map *m, int64_t key, int64_t d)
{
	int64_t *v = tl_map_first1(run, m, key);

	return tl_likely(v) ? (*v = tl_add(*v, d)) : tl_map_add1_slow(run, m, key, d);
}

static inline void tl_map_stat_add1(
	struct tl_run *run, const struct tl_map *m, int64_t key, int64_t x)
{
	struct tl_stat *s = tl_map_first1(run, m, key);

	if (tl_likely(s))
		tl_stat_add(s, &m->hist, x);
	else
		tl_map_stat_add1_slow(run, m, key, x);
}

/* The same for quick halves: the first or the second in its bucket. */
static TL_QUICK void *tl_quick_find1(struct tl_run *run, const struct tl_map *m, int64_t key)
{
	uint8_t *map = run->view->globals + m->offset, *e;
	uint32_t n = tl_map_front(m, map, tl_map_hash1(key));

	if (tl_unlikely(n >= m->capacity))
		return tl_run_again(run), NULL;
	e = map + m->entries + (uint64_t)n * m->stride;
	if (tl_likely(*(int64_t *)(e + TL_MAP_LINKS) == key))
		return e + m->value_off;
	n = *(uint32_t *)e - 1;
	if (tl_unlikely(n >= m->capacity))
		return tl_run_again(run), NULL;
	e = map + m->entries + (uint64_t)n * m->stride;
	if (tl_likely(*(int64_t *)(e + TL_MAP_LINKS) == key))
		return e + m->value_off;
	return tl_run_again(run), NULL;
}

static TL_QUICK int64_t tl_quick_get1(struct tl_run *run, const struct tl_map *m, int64_t key)
{
	const int64_t *v = tl_quick_find1(run, m, key);

	return tl_likely(v) ? *v : 0;
}

static TL_QUICK void tl_quick_set1(
	struct tl_run *run, const struct tl_map *m, int64_t key, int64_t x)
{
	int64_t *v = tl_quick_find1(run, m, key);

	if (tl_likely(v))
		*v = x;
}

static TL_QUICK int64_t tl_quick_add1(
	struct tl_run *run, const struct tl_map *m, int64_t key, int64_t d)
{
	int64_t *v = tl_quick_find1(run, m, key);

	return tl_likely(v) ? (*v = tl_add(*v, d)) : 0;
}

static TL_QUICK void tl_quick_stat_add1(
	struct tl_run *run, const struct tl_map *m, int64_t key, int64_t x)
{
	struct tl_stat *s = tl_quick_find1(run, m, key);

	if (tl_likely(s))
		tl_stat_add(s, &m->hist, x);
}

/*
 * foreach. Order: unsorted, in order of insertion, or as the array was sorted
 * last; else by key n or by value (for statistics by `op`). The body may change the map: entries that are
 * deleted meanwhile are left out; nothing worse happens. It may also walk the
 * same array in another order.
 *
 *   struct tl_iter it;
 *   tl_iter_begin(&run, &it, &map, TL_SORT_KEY(0), -1, TL_COUNT, limit);
 *   while (tl_iter_next(&it)) { k = tl_iter_long(&it, 0); ... }
 */
#define TL_SORT_NONE   (-1)
#define TL_SORT_VALUE  (-2)
#define TL_SORT_KEY(n) (n)
#define TL_NO_LIMIT    INT64_MAX

struct tl_iter {
	struct tl_run *run;
	const struct tl_map *map;
	uint8_t *entry; /* current one */
	int64_t limit;
	uint32_t next; /* number of the coming one, 0: end */
	uint32_t steps; /* bound against damaged links */
	uint32_t turn; /* the array's latest sort is this one's, unless another followed */
	int8_t sort, direction;
	uint8_t op;
};
/* direction: 1 ascending, -1 descending. */
void tl_iter_begin(struct tl_run *run, struct tl_iter *it, const struct tl_map *m, int sort,
	int direction, enum tl_stat_op op, int64_t limit);
bool tl_iter_next(struct tl_iter *it);
int64_t tl_iter_long(const struct tl_iter *it, uint32_t key);
void tl_iter_str(const struct tl_iter *it, uint32_t key, struct tl_str *dst);
int64_t tl_iter_value(const struct tl_iter *it);
void tl_iter_value_str(const struct tl_iter *it, struct tl_str *dst);
struct tl_stat *tl_iter_stat(const struct tl_iter *it);

/* --- output -------------------------------------------------------------------
 * print(), println(), printd() ... are formats too ("%d", "%s\n"): the compiler
 * numbers every format in FORMATS and passes arguments only. An argument of
 * %m and %M is a string made by tl_mem_bytes().
 */
void tl_printf(struct tl_run *run, uint16_t format, const struct tl_value *args, uint32_t n);
/* Numbers only: the quick one. */
void tl_printf_longs(struct tl_run *run, uint16_t format, const int64_t *args, uint32_t n);
void tl_print_str(struct tl_run *run, const struct tl_str *s); /* print() of any text */
void tl_warn(struct tl_run *run, const struct tl_str *msg);
void tl_error(struct tl_run *run, const struct tl_str *msg); /* error(): fails */
/* -t: a run of the handler that began then (tl_cycles_now()) is over; TIMES begins at `times` of a shard area. */
void tl_time_add(struct tl_run *run, uint32_t times, int64_t began);
void tl_command(struct tl_run *run, uint16_t command); /* system(): a number of COMMANDS */
void tl_command_text(struct tl_run *run, const struct tl_str *text); /* one made at run time */
void tl_switch_file(struct tl_run *run); /* what follows is for the next output file (-S) */
/* $value of a file's .read and .write: in the runner only, of any length; may fail. */
void tl_value_get(struct tl_run *run, struct tl_str *dst);
void tl_value_set(struct tl_run *run, const struct tl_str *text);
void tl_value_add(struct tl_run *run, const struct tl_str *text);
void tl_exit(struct tl_run *run);
void tl_abort(struct tl_run *run); /* fails */

/* --- the traced program --------------------------------------------------------
 * A failing read is the run-time error "read fault [man error::fault] at ADDR".
 */
int64_t tl_load(struct tl_run *run, uint64_t addr, uint32_t size,
	bool is_signed); /* 1, 2, 4, 8 bytes; may fail */
/* The same, 0 instead of the error. */
int64_t tl_load_or_0(struct tl_run *run, uint64_t addr, uint32_t size, bool is_signed);
/* The low 1, 2, 4 or 8 bytes; "write fault [man error::fault] at ADDR". */
void tl_store(struct tl_run *run, uint64_t addr, uint32_t size, int64_t value); /* may fail */
void tl_store_bytes(struct tl_run *run, uint64_t addr, const void *src, int64_t n); /* may fail */
bool tl_user_read(struct tl_run *run, void *dst, uint64_t addr, uint32_t size); /* may fail */
void tl_user_string(struct tl_run *run, struct tl_str *dst, uint64_t addr); /* may fail */
void tl_user_string_n(
	struct tl_run *run, struct tl_str *dst, uint64_t addr, int64_t n); /* may fail */
/* user_string2(): the other text instead of the error. */
void tl_user_string2(
	struct tl_run *run, struct tl_str *dst, uint64_t addr, const struct tl_str *other);
/* user_string_quoted(): in quotes, with C escapes; "<unknown>" address form on a fault. */
void tl_user_string_quoted(struct tl_run *run, struct tl_str *dst, uint64_t addr);
/* inlen bytes, NULs too, in at most len (0: "") bytes of text; the address on a fault, or an error. */
void tl_user_buffer_quoted(
	struct tl_run *run, struct tl_str *dst, uint64_t addr, int64_t inlen, int64_t len);
void tl_user_buffer_quoted_error(
	struct tl_run *run, struct tl_str *dst, uint64_t addr, int64_t inlen, int64_t len);
/* UTF-16 (unit 2) and UTF-32 (4) as UTF-8; may fail. */
void tl_user_string_wide(struct tl_run *run, struct tl_str *dst, uint64_t addr, uint32_t unit);
void tl_mem_bytes(
	struct tl_run *run, struct tl_str *dst, uint64_t addr, int64_t n); /* for %m %M; may fail */

/*
 * Where `vaddr` of image number n lies in this process; may fail (not mapped). Of several copies of the image it is the
 * one that the probe stands in.
 */
static inline uint64_t tl_image_addr(struct tl_run *run, uint32_t n, uint64_t vaddr)
{
	const struct tl_view *v = run->view;
	const uint64_t *image = v->images ? v->images + (size_t)n * v->image_words : NULL;

	if (run->env->image == n)
		return run->env->bias + vaddr;
	if (tl_likely(image && n < v->nimages && image[1] < image[2]))
		return image[0] + vaddr;
	tl_run_error(run, "image %d is not mapped in this process", (int64_t)n);
	return 0;
}

/* What a library's loader writes into a word for thread-local variables. */
enum tl_tls_way {
	TL_TLS_OFFSET,	   /* how far from the thread pointer one is (TPOFF64) */
	TL_TLS_DESCRIPTOR, /* in the second of two words the same, or where module and offset are (TLSDESC) */
	TL_TLS_MODULE,	   /* the module's number (DTPMOD64) */
};
/*
 * Where the calling thread has the variable `offset` of such a library, by the word at `slot`, which is for the variable
 * `slot_of`. May fail: "thread-local storage of LIBRARY is not allocated in this thread yet".
 */
uint64_t tl_tls_addr(struct tl_run *run, uint64_t tp, enum tl_tls_way way, uint64_t slot,
	uint64_t slot_of, uint64_t offset, const char *library);

/* Registers: by DWARF number; may fail. Call-preserved ones need TL_TAP_PROBE_REGS. */
int64_t tl_reg_none(struct tl_run *run);
static inline int64_t tl_reg(struct tl_run *run, uint32_t dwarf)
{
#if defined(__x86_64__)
	const struct tl_regs *r = run->regs;
	static const uint8_t at[] = {
		offsetof(struct tl_regs, ax),
		offsetof(struct tl_regs, dx),
		offsetof(struct tl_regs, cx),
		offsetof(struct tl_regs, bx),
		offsetof(struct tl_regs, si),
		offsetof(struct tl_regs, di),
		offsetof(struct tl_regs, bp),
		offsetof(struct tl_regs, sp),
		offsetof(struct tl_regs, r8),
		offsetof(struct tl_regs, r9),
		offsetof(struct tl_regs, r10),
		offsetof(struct tl_regs, r11),
		offsetof(struct tl_regs, r12),
		offsetof(struct tl_regs, r13),
		offsetof(struct tl_regs, r14),
		offsetof(struct tl_regs, r15),
		offsetof(struct tl_regs, ip),
	};

	if (tl_likely(r && dwarf < sizeof(at)))
		return *(const int64_t *)((const char *)r + at[dwarf]);
#else
	(void)dwarf;
#endif
	return tl_reg_none(run);
}
/* By name: "rax", "eax", "ax", "al"; may fail. A function that calls it says so: registers. */
int64_t tl_register(struct tl_run *run, const struct tl_str *name, bool is_signed);
#if defined(__x86_64__)
#define TL_REG_ARGS 6
/* Where a function gets its argument n, from 0. */
static inline uint64_t *tl_reg_arg(struct tl_regs *r, uint32_t n)
{
	static const uint8_t at[TL_REG_ARGS] = {
		offsetof(struct tl_regs, di),
		offsetof(struct tl_regs, si),
		offsetof(struct tl_regs, dx),
		offsetof(struct tl_regs, cx),
		offsetof(struct tl_regs, r8),
		offsetof(struct tl_regs, r9),
	};

	return (uint64_t *)((char *)r + at[n]);
}
#else
/* Ports to come give theirs. */
#define TL_REG_ARGS 0
static inline uint64_t *tl_reg_arg(struct tl_regs *r, uint32_t n)
{
	return (void)r, (void)n, NULL;
}
#endif
/*
 * Argument n (from 1) by the calling convention, valid at function entry; may
 * fail. size 1, 2, 4, 8: cut to that and extended.
 */
int64_t tl_arg_slow(struct tl_run *run, int64_t n, uint32_t size, bool is_signed);
static inline int64_t tl_arg(struct tl_run *run, int64_t n, uint32_t size, bool is_signed)
{
	if (tl_likely(run->regs && n >= 1 && n <= TL_REG_ARGS && !run->env->at_syscall))
		return tl_extend(*tl_reg_arg(run->regs, (uint32_t)n - 1), size, is_signed);
	return run->whole ? tl_arg_slow(run->whole, n, size, is_signed) : tl_run_again(run);
}
int64_t tl_returnval(struct tl_run *run); /* may fail */
/* The same, to be found there by the function, or its caller: may fail. */
void tl_arg_set(struct tl_run *run, int64_t n, uint32_t size, int64_t value);
void tl_returnval_set(struct tl_run *run, int64_t value);
int64_t tl_uaddr(struct tl_run *run);
int64_t tl_caller_addr(
	struct tl_run *run); /* at function entry and in RETURN probes; 0 elsewhere */

struct tl_ids tl_guest_ids(const struct tl_run *run);
static inline int64_t tl_tid(const struct tl_run *run)
{
	return tl_unlikely(*run->view->guests) ? tl_guest_ids(run).tid : run->block->tid;
}
static inline int64_t tl_pid(const struct tl_run *run)
{
	return tl_unlikely(*run->view->guests) ? tl_guest_ids(run).pid : run->block->pid;
}
static inline int64_t tl_target(const struct tl_run *run)
{
	return run->view->session->target_pid;
}
/* The processor that the thread runs on. */
int64_t tl_cpu(void);
/*
 * What changes while a process runs, and only the kernel knows. The home asks
 * each time; in a traced process that costs a breakpoint.
 */
enum tl_fact {
	TL_FACT_PPID,
	TL_FACT_PGRP,
	TL_FACT_SID,
	TL_FACT_UID,
	TL_FACT_EUID,
	TL_FACT_GID,
	TL_FACT_EGID,
	TL_FACT_PARENTS_NAME, /* 16 bytes */
	TL_FACT_NAME, /* 16 bytes */
	TL_FACT_ARGS, /* where its arguments begin and end */
	TL_FACT_VARS, /* where its environment does */
	TL_FACT_SIZE, /* memory in pages: all, resident, shared, text, data */
	TL_FACT_RSS,
	TL_FACT_SHR,
	TL_FACT_TXT,
	TL_FACT_DATA,
	TL_FACT_UTIME, /* ns in user mode and in the kernel: of the thread; of all of them with `of` */
	TL_FACT_STIME,
	TL_FACT_LOAD, /* of the machine, in hundredths: of 1 minute and (upper half) of 5; of 15 */
	TL_FACTS
};
int64_t tl_fact(struct tl_run *run, enum tl_fact what, int64_t of); /* may fail */
void tl_fact_name(
	struct tl_run *run, struct tl_str *dst, enum tl_fact what, int64_t of); /* may fail */
/* Arguments n to m (-1: all) with `delim` between them, a further empty one as "\"\""; may fail. */
void tl_cmdline(struct tl_run *run, struct tl_str *dst, int64_t n, int64_t m,
	const struct tl_str *delim);
/* Of the environment that the program was started with; "": not there. May fail. */
void tl_env_var(struct tl_run *run, struct tl_str *dst, const struct tl_str *name);
int64_t tl_load_average(struct tl_run *run, int64_t n); /* 0, 1, 2: of 1, 5, 15 minutes, in hundredths; may fail */
void tl_raise(struct tl_run *run, int64_t sig); /* may fail */
/* Busy for so long, at most TL_DELAY_MAX; may fail. */
#define TL_DELAY_MAX 1000000000ll
void tl_delay(struct tl_run *run, int64_t ns);
void tl_execname(struct tl_run *run, struct tl_str *dst);
void tl_pp(struct tl_run *run, struct tl_str *dst);
void tl_pn(struct tl_run *run, struct tl_str *dst);
void tl_probe_type(struct tl_run *run, struct tl_str *dst);
void tl_module_name(struct tl_run *run, struct tl_str *dst);
void tl_probefunc(struct tl_run *run, struct tl_str *dst);
void tl_usymname(struct tl_run *run, struct tl_str *dst, uint64_t addr); /* "0x..." when unknown */
void tl_usymdata(struct tl_run *run, struct tl_str *dst, uint64_t addr);
enum tl_source { TL_SOURCE_FILE = 1, TL_SOURCE_LINE = 2 };
/* "file", "line" or both, "file:line"; "0x..." when unknown */
void tl_usymsource(struct tl_run *run, struct tl_str *dst, uint64_t addr, uint32_t parts);
void tl_umodname(struct tl_run *run, struct tl_str *dst, uint64_t addr); /* may fail */
void tl_umodbuildid(struct tl_run *run, struct tl_str *dst, uint64_t addr); /* may fail */
int64_t tl_umodaddr(struct tl_run *run, uint64_t addr); /* may fail */

/* Addresses of the callers, the probed place first: "0x.. 0x..". "" where the handler has no registers. */
void tl_ustack_addresses(struct tl_run *run, struct tl_str *dst, int64_t max);
enum tl_shown { TL_SHOWN_FULL, TL_SHOWN_BRIEF, TL_SHOWN_LINES, TL_SHOWN_SIMPLE };
/* What they mean, one a line. */
void tl_ustack_print(struct tl_run *run, enum tl_shown how, int64_t max);
/* The stack of somebody else who stands there, with the other registers as they are here. */
struct tl_from {
	uint64_t pc, sp, fp;
};
void tl_ustack_print_from(
	struct tl_run *run, const struct tl_from *from, enum tl_shown how, int64_t max);
void tl_ustack_text(struct tl_run *run, struct tl_str *dst, enum tl_shown how, int64_t max);
/* The same for each word of a list of addresses in hex, behind the word itself. */
void tl_usyms_print(struct tl_run *run, const struct tl_str *list);
void tl_usyms_text(struct tl_run *run, struct tl_str *dst, const struct tl_str *list);
void tl_thread_indent(struct tl_run *run, struct tl_str *dst, int64_t delta);
int64_t tl_thread_indent_depth(struct tl_run *run, int64_t delta);
bool tl_errno_known(int64_t err); /* negative, and has a name */
void tl_errno_str(struct tl_run *run, struct tl_str *dst, int64_t err);

/* --- time ------------------------------------------------------------------------ */
int64_t tl_time_ns(struct tl_run *run); /* since the epoch */
static inline int64_t tl_time_us(struct tl_run *run)
{
	return tl_div_any(tl_time_ns(run), 1000);
}
static inline int64_t tl_time_ms(struct tl_run *run)
{
	return tl_div_any(tl_time_ns(run), 1000000);
}
static inline int64_t tl_time_s(struct tl_run *run)
{
	return tl_div_any(tl_time_ns(run), 1000000000);
}
int64_t tl_cycles_now(struct tl_run *run); /* get_cycles() */
/* 0 .. n - 1; may fail (n above TL_RANDMAX) */
#define TL_RANDMAX (1 << 20)
int64_t tl_randint(struct tl_run *run, int64_t n);
void tl_ctime(struct tl_run *run, struct tl_str *dst, int64_t seconds);
void tl_tz_name(struct tl_run *run, struct tl_str *dst);
void tl_tz_ctime(struct tl_run *run, struct tl_str *dst, int64_t seconds);

/* --- fit ------------------------------------------------------------------------- */
/*
 * Every module asks for this function, so that a runtime with other structures
 * or other meanings refuses it. A new number for each such change;
 * runtime/exports.c notices changes of layout.
 */
void tl_runtime_abi_13(void);
__attribute__((used)) static void tl_fit(void)
{
	tl_runtime_abi_13();
}

#endif
