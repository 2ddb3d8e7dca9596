/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/* What the files of return probes share. */
#ifndef TRAPLESS_ENGINE_CORE_RET_H
#define TRAPLESS_ENGINE_CORE_RET_H

#include "internal.h"

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
	struct tl_ret_instance *
		adrift; /* counted as abandoned, newest first; may still turn out to be on another stack */
	bool keeps; /* some: counted in st->keepers */
	struct tl_ret_instance base; /* the end of the list; its stack pointer is that of no call */
};

_Static_assert(sizeof(struct tl_ret_thread) <= sizeof(struct tl_thread), "see tl_ret_thread_of()");

struct tl_ret_exit {
	struct tl_probe probe; /* first */
	struct tl_exit exit;
	/* to a function that has not been called yet: */
	uintptr_t stub; /* which has the loader look it up; 0: none was found */
	uintptr_t unbound; /* the same, once it is foretold: */
	uintptr_t likely; /* what it will lead to */
};

/* A function, or a part of one, that calls leave to by a jump: its entry and exits are watched. */
struct tl_ret_follow {
	struct tl_ret_follow *next;
	struct tl_ret_state *st;
	uintptr_t to; /* where the jump leads to that it was found by */
	size_t size; /* of this memory */
	struct tl_func_part part;
	struct tl_probe entry;
	struct tl_probe **list; /* entry and exits */
	size_t nexits;
	struct tl_ret_exit exits[];
};

enum { TL_RET_WANTED = 8, TL_RET_REFUSED = 8 };

struct tl_ret_state {
	tl_ret_entry_fn on_entry; /* the caller's, near at hand */
	tl_ret_fn on_return;
	uintptr_t threads_at; /* a struct tl_thread's address plus this: its struct tl_ret_thread */
	bool used; /* there has been a call */
	bool prepares; /* entries: per-call data, or a handler */
	uint32_t data_words;
	uint32_t keepers; /* threads that keep some */
	struct tl_retprobe *rp;
	struct tl_ret_state *next, **link; /* that leads to it, while it is in tl_ret_states */
	int *result; /* while it is being registered */
	size_t size;
	struct tl_probe entry;
	struct tl_probe **list; /* entry and exits */
	struct tl_ret_exit *exits;
	size_t nexits;
	struct tl_func_part *parts; /* of the function */
	size_t nparts;
	bool needs_result;
	uint32_t *taken; /* bitmap of the pool */
	uint32_t max, words;
	uint8_t *pool;
	size_t step;
	/* tail calls */
	struct tl_ret_follow *followed; /* readers walk it inside a guard */
	struct tl_ret_follow *arriving; /* in place, not told to the readers yet */
	uint32_t nfollowed;
	uintptr_t wanted
		[TL_RET_WANTED]; /* places that calls left to and that nobody watches; any context */
	struct tl_ret_refused {
		uintptr_t entry;
		int why;
	} refused[TL_RET_REFUSED];
	uint32_t nrefused;
};

static inline struct tl_ret_thread *tl_ret_thread_of(
	const struct tl_ret_state *st, const struct tl_thread *self)
{
	return (void *)((uintptr_t)self + st->threads_at);
}

/* ret.c: handlers */
int tl_ret_entry_hit(struct tl_probe *p, struct tl_regs *regs, struct tl_thread *self);
int tl_ret_exit_hit(struct tl_probe *p, struct tl_regs *regs, struct tl_thread *self);
int tl_ret_jump_hit(struct tl_probe *p, struct tl_regs *regs, struct tl_thread *self);
int tl_ret_followed_entry_hit(struct tl_probe *p, struct tl_regs *regs, struct tl_thread *self);
int tl_ret_followed_exit_hit(struct tl_probe *p, struct tl_regs *regs, struct tl_thread *self);
int tl_ret_followed_jump_hit(struct tl_probe *p, struct tl_regs *regs, struct tl_thread *self);
void tl_ret_thread_forget(struct tl_ret_state *st, unsigned index);
/* In the function, but not its entry. */
bool tl_ret_inside(const struct tl_ret_state *st, uintptr_t to);

/* left.c: engine lock held. Which calls have no frame any more? While the exits are probed still. */
void tl_ret_mark_left(struct tl_ret_state *list);
/* Once no handler comes any more. */
void tl_ret_count_left(struct tl_ret_state *list);

/* retprobe.c */
extern struct tl_ret_state *tl_ret_states;
/* The exits of one of the parts `all`; with max 0 only their number. */
int tl_ret_part_exits(const struct tl_func_part *part, const struct tl_func_part *all, size_t nall,
	uintptr_t entry, struct tl_exit *out, size_t max, uintptr_t *bad);
void tl_ret_fill_entry(struct tl_probe *p, struct tl_ret_state *st, uintptr_t addr, tl_pre_fn pre);
void tl_ret_fill_exit(struct tl_ret_exit *e, struct tl_ret_state *st, const struct tl_exit *exit,
	tl_pre_fn on_return, tl_pre_fn on_jump);
bool tl_ret_by_trap(const struct tl_probe *p);

/* follow.c: functions that are left to by a jump. Engine lock held, but for the last two. */
void tl_ret_follow_all(
	struct tl_ret_state *list); /* of all in the list, in one batch for each level */
void tl_ret_unfollow_all(struct tl_ret_state *list);
void tl_ret_tell_tails(const struct tl_ret_state *st, struct tl_retprobe_info *info);
/* The followed part that holds `to` and whose probes are in place, or NULL. From a handler. */
const struct tl_ret_follow *tl_ret_followed(const struct tl_ret_state *st, uintptr_t to);
/* Where an exit with this target, a word's value, will lead to once it is bound. Any context. */
static inline uintptr_t tl_ret_bound(const struct tl_ret_exit *e, uintptr_t to)
{
	return to && TL_LOAD(&e->unbound) == to ? e->likely : to;
}
/* Somebody left to there, and nobody watches. From a handler. */
void tl_ret_want(struct tl_ret_state *st, uintptr_t to);

#endif
