/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/* One run of a handler: how it begins and ends, its locks, its errors, its limits. */
#ifndef TRAPLESS_RUNTIME_SCRIPT_RUN_H
#define TRAPLESS_RUNTIME_SCRIPT_RUN_H

#include "view.h"

#define tl_likely(x)   __builtin_expect(!!(x), 1)
#define tl_unlikely(x) __builtin_expect(!!(x), 0)

#define TL_QUICK inline __attribute__((always_inline))

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

/* cold halves, in run.c, ring.c and report.c */
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

/* Of a return probe at the return. */
static inline void tl_count_hit(struct tl_block *b, const struct tl_env *env)
{
	++*(uint64_t *)((char *)b + env->hits_at);
}

/* What any run has. */
static TL_QUICK void tl_run_begin(
	struct tl_run *run, const struct tl_env *env, struct tl_block *b, struct tl_regs *regs)
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
bool tl_run_enter_slow(
	struct tl_run *run, const struct tl_env *env, struct tl_regs *regs, struct tl_thread *self);
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

#endif
