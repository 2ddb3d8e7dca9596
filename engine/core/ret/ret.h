/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/* What the files of return probes share. */
#ifndef TRAPLESS_ENGINE_CORE_RET_H
#define TRAPLESS_ENGINE_CORE_RET_H

#include "../../arch/arch.h"
#include "../base/index.h"
#include "../base/mem.h"
#include "../base/sparse.h"
#include "../detour/thread.h"

enum tl_call_flag {
	CALL_SKIP = 1, /* no on_return */
	CALL_LOAN = 2, /* back into the pool when done */
	CALL_JUMPED = 4, /* it has left by a jump; the callee's entry has not been seen yet */
	CALL_AWAY = 8, /* a function that it has jumped to runs in its place */
	CALL_AGAIN = 16, /* it is on its way back to its own entry */
};
#define CALL_WAITS (CALL_JUMPED | CALL_AWAY)

struct tl_ret_instance {
	struct tl_ret_call call;
	struct tl_ret_instance *down, *up; /* older call; newer one, or one to be used again */
	uint32_t flags; /* enum tl_call_flag */
	bool left; /* left.c: its frame is gone, and nobody has counted it */
	uint64_t data[]; /* st->data_words */
};

enum { TL_RET_FAR = 1 << 20 };

/* Did it enter at sp, or not far below? */
static inline bool tl_ret_is_below(const struct tl_ret_instance *i, uintptr_t sp)
{
	return sp - i->call.sp < TL_RET_FAR;
}

struct tl_ret_thread {
	struct tl_ret_instance *top; /* newest call, &base: none; NULL: not used yet */
	struct tl_ret_instance *next; /* top->up: one load less between two calls */
	uint32_t tid; /* whose calls these are */
	uint32_t nwaiting; /* calls with CALL_WAITS */
	uint32_t lost; /* entries that found the pool empty */
	uint32_t nkept;
	uint32_t nadrift;
	uint32_t number; /* its thread's */
	/* Counted as abandoned, newest first; may still turn out to be on another stack */
	struct tl_ret_instance *adrift;
	bool keeps; /* some: counted in st->keepers */
	bool fibers; /* calls that were adrift have come back */
	struct tl_ret_instance base; /* the end of the list; its stack pointer is that of no call */
};

/*
 * Threads that come by a return probe get numbers, from 1: what each return probe keeps of a thread lies by number, so
 * that it is as much memory as there are such threads. TL_RET_THREADS of them at once; calls of more are missed, and counted.
 */
#define TL_RET_STEP 128u
#ifndef TL_RET_THREADS
#define TL_RET_THREADS 4096u
#endif
_Static_assert(sizeof(struct tl_ret_thread) <= TL_RET_STEP, "see tl_ret_thread_of()");

struct tl_ret_exit {
	struct tl_probe probe; /* first */
	tl_ret_fn on_return; /* of a function's own exit, as in its state: one load less */
	uintptr_t threads_at; /* st->threads.flat */
	struct tl_exit exit;
	/* to a function that has not been called yet: */
	uintptr_t stub; /* which has the loader look it up; 0: none was found */
	uintptr_t unbound; /* the same, once it is foretold: */
	uintptr_t likely; /* what it will lead to */
};

/*
 * A function, or a part of one, that calls leave to by a jump: its entry and exits are
 * watched, once for all return probes of a kind that follow it.
 */
struct tl_ret_watch {
	struct tl_node node; /* first; by part.start */
	struct tl_ret_watch *same; /* others that begin there */
	struct tl_ret_watch *next; /* while it comes, or goes */
	struct tl_func_part part;
	uint32_t kind; /* tl_ret_kind() of those that follow it */
	/* Who follows it: jumps back into its function are left out */
	const struct tl_ret_state *only;
	uint32_t users;
	int why; /* refused: -TL_E_ */
	struct tl_probe entry;
	struct tl_probe **list; /* entry and exits */
	size_t nexits;
	struct tl_ret_exit exits[];
};

enum { TL_RET_FOLLOWED = 32, TL_RET_WANTED = 8, TL_RET_REFUSED = 8 };

struct tl_ret_state {
	struct tl_probe entry; /* beside what its hits need */
	tl_ret_entry_fn on_entry; /* the caller's, near at hand */
	tl_ret_fn on_return;
	struct tl_sparse threads; /* what is kept of threads, by number; the first is nobody's */
	bool used; /* there has been a call */
	uint32_t data_words;
	uint32_t keepers; /* threads that keep some */
	struct tl_retprobe *rp;
	struct tl_ret_state *next, **link; /* that leads to it, while it is in tl_ret_states */
	int *result; /* while it is being registered */
	struct tl_probe **list; /* entry and exits */
	struct tl_ret_exit *exits;
	size_t nexits;
	struct tl_func_part *parts; /* of the function */
	size_t nparts;
	bool needs_result;
	uint32_t *taken; /* bitmap of the pool */
	uint32_t max, words;
	struct tl_sparse pool;
	/* tail calls */
	struct tl_ret_followed {
		struct tl_ret_watch *watch;
		uintptr_t to; /* where the jump leads to that it was found by */
	} followed[TL_RET_FOLLOWED];
	uint32_t nfollowed; /* readers look at these */
	uint32_t nsettled,
		nfound; /* those behind are in place, but not told to the readers; are to be */
	bool leaving;
	/* Places that calls left to and that nobody watches; any context */
	uintptr_t wanted[TL_RET_WANTED];
	struct tl_ret_refused {
		uintptr_t entry;
		int why;
	} refused[TL_RET_REFUSED];
	uint32_t nrefused;
};

/* What a detour gives its handler, and where it may stand, depends on these flags. */
static inline uint32_t tl_ret_kind(const struct tl_ret_state *st)
{
	return st->rp->flags & ~(uint32_t)TL_PROBE_RESULT;
}

/* numbers.c */
void tl_ret_number_find(struct tl_thread *self);
/* Where a record is the processor's, nobody has told it yet whose calls it is about. */
static inline struct tl_thread *tl_ret_known(struct tl_thread *self)
{
#ifdef TL_CONTEXTS
	tl_ret_number_find(self);
#endif
	return self;
}

static inline struct tl_ret_thread *tl_ret_thread_of(
	const struct tl_ret_state *st, const struct tl_thread *self)
{
#ifdef TL_CONTEXTS
	void *rt = tl_sparse_at(&st->threads, self->ret_at / TL_RET_STEP);

	return rt ? rt : tl_sparse_at(&st->threads, 0);
#else
	return (void *)(st->threads.flat + self->ret_at);
#endif
}

/* The same in the handler of one of its exits. */
static inline struct tl_ret_thread *tl_ret_thread_at(
	const struct tl_ret_exit *e, const struct tl_thread *self)
{
#ifdef TL_CONTEXTS
	return tl_ret_thread_of(e->probe.data, self);
#else
	return (void *)(e->threads_at + self->ret_at);
#endif
}

void tl_ret_unregister_all(void);
void tl_ret_deinit(void);
/* Some call has left to where tl_retprobe_follow() may find more. */
extern uint32_t tl_ret_wanting;

/* ret.c: handlers */
int tl_ret_entry_hit(struct tl_probe *p, struct tl_regs *regs, struct tl_thread *self);
/* The same, where calls have data or a handler of their own. */
int tl_ret_entry_prepare_hit(struct tl_probe *p, struct tl_regs *regs, struct tl_thread *self);
int tl_ret_exit_hit(struct tl_probe *p, struct tl_regs *regs, struct tl_thread *self);
int tl_ret_jump_hit(struct tl_probe *p, struct tl_regs *regs, struct tl_thread *self);
/* Of a function that is followed. */
int tl_ret_watch_entry_hit(struct tl_probe *p, struct tl_regs *regs, struct tl_thread *self);
int tl_ret_watch_exit_hit(struct tl_probe *p, struct tl_regs *regs, struct tl_thread *self);
int tl_ret_watch_jump_hit(struct tl_probe *p, struct tl_regs *regs, struct tl_thread *self);
void tl_ret_thread_forget(struct tl_ret_state *st, const struct tl_thread *self);
/* In the function, but not its entry. */
bool tl_ret_inside(const struct tl_ret_state *st, uintptr_t to);

/* left.c: engine lock held. Which calls have no frame any more? While the exits are probed still. */
void tl_ret_mark_left(struct tl_ret_state *list);
/* Once no handler comes any more. */
void tl_ret_count_left(struct tl_ret_state *list);

/* retprobe.c */
extern struct tl_ret_state *tl_ret_states;
/* All exits of a function, in memory that the next call uses again: their number, or why not. */
int tl_ret_exits(const struct tl_func_part *parts, size_t nparts, uintptr_t entry,
	const struct tl_exit **exits, uintptr_t *bad);
void tl_ret_fill_probe(
	struct tl_probe *p, void *data, uintptr_t addr, tl_pre_fn pre, uint32_t flags);
void tl_ret_fill_exit(struct tl_ret_exit *e, void *data, const struct tl_exit *exit,
	tl_pre_fn on_return, tl_pre_fn on_jump, uint32_t flags);
bool tl_ret_by_trap(const struct tl_probe *p);

/* follow.c: functions that are left to by a jump. Engine lock held, but for the last two. */
void tl_ret_follow_all(
	struct tl_ret_state *list); /* of all in the list, in one batch for each level */
void tl_ret_unfollow_all(struct tl_ret_state *list);
void tl_ret_tell_tails(const struct tl_ret_state *st, struct tl_retprobe_info *info);
/* The followed part that holds `to` and whose probes are in place, or NULL. From a handler. */
const struct tl_ret_watch *tl_ret_followed(const struct tl_ret_state *st, uintptr_t to);
/* Where an exit with this target, a word's value, will lead to once it is bound. Any context. */
static inline uintptr_t tl_ret_bound(const struct tl_ret_exit *e, uintptr_t to)
{
	return to && TL_LOAD(&e->unbound) == to ? e->likely : to;
}
/* Somebody left to there, and nobody watches. From a handler. */
void tl_ret_want(struct tl_ret_state *st, uintptr_t to);

/* --- calls that wait (waiting.c) ----------------------------------------------- */

enum { TL_RET_WAITING = 126 };

/* Of threads. A number for this one, in its own handler; false: all are taken. */
bool tl_ret_number_take(struct tl_thread *self);
void tl_ret_number_give(struct tl_thread *t);
void tl_ret_numbers_deinit(void);
/* Whose number that is, or NULL. */
struct tl_thread *tl_ret_numbered(uint32_t number);
/* No number that anybody has is larger. */
uint32_t tl_ret_numbers(void);

/* Of a thread. */
struct tl_ret_waiting {
	uint32_t tid; /* whose it is */
	uint32_t n;
	struct tl_ret_state *at[TL_RET_WAITING]; /* NULL: free */
};

int tl_ret_waiting_init(void);
void tl_ret_waiting_deinit(void);
/* From a handler, of its own thread. */
const struct tl_ret_waiting *tl_ret_waiting_of(const struct tl_thread *self);
bool tl_ret_waiting_room(const struct tl_thread *self);
void tl_ret_waiting_add(const struct tl_thread *self, struct tl_ret_state *st);
void tl_ret_waiting_drop(const struct tl_thread *self, const struct tl_ret_state *st);
/* Those that are leaving, of all threads. Handlers may go on with one until a grace period is over. */
void tl_ret_waiting_clear(void);

#endif
