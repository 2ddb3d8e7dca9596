/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/*
 * Return probes: an ordinary probe on the entry and on every exit, and per
 * thread the list of calls under way. Only the thread itself touches its list,
 * and only inside a handler (the guard keeps its own signal handlers out), so
 * nothing is locked.
 *
 * Calls come from a pool by one atomic bit. Those that a thread has done with
 * stay linked above its newest one, a few of them, so that the usual call
 * moves one pointer up and down again: no atomic, and no pointer in memory
 * that changes but this one. At most half of the pool is kept that way.
 *
 * Lists are newest first. A call whose stack pointer is not above that of a
 * later entry or exit has lost its frame to throw or longjmp, or lives on
 * another stack (a coroutine's, which may lie close by). So it is set adrift:
 * counted as abandoned, out of the way, but found again if it returns after
 * all. Only an entry at the very same place proves its end: so of the calls set
 * adrift that entered at one place the newest alone may return, and no older one
 * stays in the list. Calls far away (TL_RET_FAR) are left where they are.
 *
 * A tail call is not yet a return: the function that it jumps to returns in its
 * place, with the stack pointer that the call had at its entry. So that
 * function's exits are watched too (follow.c), and the call waits for one of
 * them. Only where that is not possible is the jump taken for the return; the
 * handler is told (tail_to), or not called if it needs the result.
 *
 * A jump that names the function's own entry is a turn of a loop, whether its
 * source says `while` or calls itself last: the same call goes on.
 */
#include "../base/mem.h"
#include "ret.h"

enum {
	KEPT = 8, /* calls that a thread may keep */
	ADRIFT = 64, /* of a thread; the oldest go */
	ADRIFT_FIBERS = 1024, /* the same, where some have come back: they may all be alive */
};

/* Out of the way of the usual call, which then saves no registers for it. */
#define RARE __attribute__((__noinline__, __cold__))

/* --- a thread's list ------------------------------------------------------- */

static inline void set_top(struct tl_ret_thread *rt, struct tl_ret_instance *i)
{
	rt->top = i;
	rt->next = i->up;
}

/* Links it in above the newest call. */
static void put_above(struct tl_ret_thread *rt, struct tl_ret_instance *i)
{
	i->down = rt->top;
	i->up = rt->next;
	if (i->up)
		i->up->down = i;
	rt->top->up = rt->next = i;
}

static void unlink_call(struct tl_ret_thread *rt, struct tl_ret_instance *i)
{
	i->down->up = i->up;
	if (i->up)
		i->up->down = i->down;
	set_top(rt, i == rt->top ? i->down : rt->top);
}

/* --- the pool ------------------------------------------------------------ */

static uint32_t take_in(uint32_t *word, uint32_t valid)
{
	uint32_t old = TL_RELAXED(word);

	while (~old & valid) {
		uint32_t bit = (uint32_t)__builtin_ctz(~old & valid);

		if (TL_CAS(word, &old, old | 1u << bit))
			return bit + 1;
	}
	return 0;
}

static void give_number(struct tl_ret_state *st, size_t n)
{
	__atomic_fetch_and(&st->taken[n / 32], ~(1u << n % 32), __ATOMIC_RELEASE);
}

static void give_to_pool(struct tl_ret_state *st, struct tl_ret_instance *i)
{
	give_number(st, tl_sparse_index(&st->pool, i));
}

/* May this thread keep one more? */
static bool may_keep(struct tl_ret_state *st, struct tl_ret_thread *rt)
{
	if (!rt->keeps && TL_RELAXED(&st->keepers) < st->max / (2 * KEPT)) {
		uint32_t n = __atomic_add_fetch(&st->keepers, 1, __ATOMIC_RELAXED);

		rt->keeps = n <= st->max / (2 * KEPT);
		if (!rt->keeps)
			__atomic_sub_fetch(&st->keepers, 1, __ATOMIC_RELAXED);
	}
	if (!rt->keeps || rt->nkept == KEPT)
		return false;
	rt->nkept++;
	return true;
}

/* --- calls --------------------------------------------------------------------- */

static inline bool waits(const struct tl_ret_instance *i)
{
	return i->flags & CALL_WAITS;
}

static void wait_as(
	struct tl_ret_state *st, struct tl_ret_thread *rt, struct tl_ret_instance *i, uint32_t flag)
{
	bool waited = rt->nwaiting;

	rt->nwaiting += (flag != 0) - (uint32_t)waits(i);
	i->flags = (i->flags & ~(uint32_t)CALL_WAITS) | flag;
	if (!waited && rt->nwaiting)
		tl_ret_waiting_add(tl_ret_numbered(rt->number), st);
	else if (waited && !rt->nwaiting)
		tl_ret_waiting_drop(tl_ret_numbered(rt->number), st);
}

/* Done with this call, wherever it stands. */
static void leave(struct tl_ret_state *st, struct tl_ret_thread *rt, struct tl_ret_instance *i)
{
	unlink_call(rt, i);
	wait_as(st, rt, i, 0);
	i->flags &= ~(uint32_t)(CALL_SKIP | CALL_AGAIN);
	if (i->flags & CALL_LOAN)
		give_to_pool(st, i);
	else
		put_above(rt, i);
}

/* Out of the thread's hands, back to where all can have it. */
static void give_up(struct tl_ret_state *st, struct tl_ret_thread *rt, struct tl_ret_instance *i)
{
	wait_as(st, rt, i, 0);
	if (!(i->flags & CALL_LOAN))
		rt->nkept--;
	i->flags = 0;
	give_to_pool(st, i);
}

/* The call at *link will not come back. */
static void sink(struct tl_ret_state *st, struct tl_ret_thread *rt, struct tl_ret_instance **link)
{
	struct tl_ret_instance *i = *link;

	*link = i->down;
	rt->nadrift--;
	give_up(st, rt, i);
}

static void sink_oldest(struct tl_ret_state *st, struct tl_ret_thread *rt)
{
	struct tl_ret_instance **link = &rt->adrift;

	while ((*link)->down)
		link = &(*link)->down;
	sink(st, rt, link);
}

/* Its frame is gone, or seems to be. */
static void take_out(struct tl_ret_state *st, struct tl_ret_thread *rt, struct tl_ret_instance *i)
{
	if (!(i->flags & CALL_SKIP))
		tl_count(&st->rp->nabandoned);
	i->left = false;
	unlink_call(rt, i);
}

/* Below a call on another stack older ones may lie that this one has entered in the place of: they are gone for good. */
static void give_up_older(
	struct tl_ret_state *st, struct tl_ret_thread *rt, const struct tl_ret_instance *than)
{
	struct tl_ret_instance *i = than->down, *down;

	for (; i != &rt->base; i = down) {
		down = i->down;
		if (i->call.sp != than->call.sp || waits(i))
			continue;
		take_out(st, rt, i);
		give_up(st, rt, i);
	}
}

/*
 * Its frame seems to be gone. Of those that were at the same place, one having jumped to the next, the newest is first.
 * Returns the call that was below.
 */
static RARE struct tl_ret_instance *abandon(
	struct tl_ret_state *st, struct tl_ret_thread *rt, struct tl_ret_instance *i)
{
	struct tl_ret_instance **link = &rt->adrift, *at, *below;

	give_up_older(st, rt, i);
	below = i->down;
	take_out(st, rt, i);
	for (at = rt->adrift; at; at = at->down)
		if (at->call.sp == i->call.sp)
			link = &at->down;
	i->down = *link;
	*link = i;
	if (++rt->nadrift > (rt->fibers ? ADRIFT_FIBERS : ADRIFT))
		sink_oldest(st, rt);
	return below;
}

/* A call entered at the same place: those that were there are gone for good. */
static RARE void sink_at(struct tl_ret_state *st, struct tl_ret_thread *rt, uintptr_t sp)
{
	struct tl_ret_instance **link = &rt->adrift;

	while (*link)
		if ((*link)->call.sp == sp)
			sink(st, rt, link);
		else
			link = &(*link)->down;
}

/*
 * A call that returns to where this one would was not abandoned, but on another stack; and so were those that wait for
 * it at the same place. Returns it, or NULL.
 */
static RARE struct tl_ret_instance *come_back(
	struct tl_ret_state *st, struct tl_ret_thread *rt, const struct tl_regs *regs)
{
	struct tl_ret_instance **link = &rt->adrift, *i, *back = NULL; /* the oldest first */

	while ((i = *link)) {
		if (i->call.sp != TL_REGS_SP(regs) || i->call.ret_ip != TL_REGS_RET_IP(regs)) {
			link = &i->down;
			continue;
		}
		*link = i->down;
		i->down = back;
		back = i;
	}
	if (!back)
		return NULL;
	rt->fibers = true;
	while ((i = back)) {
		back = i->down;
		rt->nadrift--;
		if (!(i->flags & CALL_SKIP))
			tl_uncount(&st->rp->nabandoned);
		put_above(rt, i);
		set_top(rt, i);
	}
	return rt->top;
}

static RARE void count_missed(struct tl_retprobe *rp, enum tl_missed why)
{
	tl_count(&rp->nmissed);
	tl_count(&rp->missed[why]);
}

/* One more above the newest call, or it is counted as missed. */
static RARE void take_from_pool(struct tl_ret_state *st, struct tl_ret_thread *rt)
{
	uint32_t from = (uint32_t)(((uintptr_t)rt >> TL_THREAD_SHIFT) % st->words);

	for (uint32_t n = 0; n < st->words; n++) {
		uint32_t w = (from + n) % st->words;
		uint32_t left = st->max - 32 * w;
		uint32_t got = take_in(&st->taken[w], left >= 32 ? UINT32_MAX : (1u << left) - 1);
		struct tl_ret_instance *i =
			got ? tl_sparse_make(&st->pool, 32 * w + got - 1) : NULL;

		if (!got)
			continue;
		if (!i) {
			give_number(st, 32 * w + got - 1);
			break;
		}
		i->call.rp = st->rp;
		i->call.data = i->data;
		i->left = false;
		i->flags = may_keep(st, rt) ? 0 : CALL_LOAN;
		st->used = true;
		put_above(rt, i);
		return;
	}
	if (rt->adrift) {
		sink_oldest(st, rt);
		take_from_pool(st, rt);
		return;
	}
	count_missed(st->rp, TL_MISSED_CALL);
	rt->lost++;
}

/* The record is used for the first time, or by another thread now. */
static RARE void start(struct tl_ret_state *st, struct tl_ret_thread *rt, uint32_t tid)
{
	if (!rt->top) {
		/* As few stacks as can be lie behind it: its first entry there is an unusual one. */
		rt->base.call.sp = (uintptr_t)0 - TL_RET_FAR;
		set_top(rt, &rt->base);
	}
	while (rt->top != &rt->base)
		abandon(st, rt, rt->top);
	while (rt->adrift)
		sink_oldest(st, rt);
	rt->lost = 0;
	rt->fibers = false;
	rt->tid = tid;
}

/* What is kept of the calling thread, or NULL: there is no number left for it, or no memory. */
static RARE struct tl_ret_thread *calls_of(struct tl_ret_state *st, struct tl_thread *self)
{
	struct tl_ret_thread *rt;

	if (!self->ret_at && !tl_ret_number_take(self))
		return NULL;
	rt = tl_sparse_make(&st->threads, self->ret_at / TL_RET_STEP);
	if (!rt)
		return NULL;
	rt->number = self->ret_at / TL_RET_STEP;
	if (rt->tid != self->tid)
		start(st, rt, self->tid);
	return rt;
}

/* Seen from a function's entry at sp. One that has just jumped to there lives on. */
static bool is_dead(const struct tl_ret_instance *i, uintptr_t sp)
{
	return tl_ret_is_below(i, sp) && !(i->call.sp == sp && (i->flags & CALL_JUMPED));
}

static RARE void abandon_dead(struct tl_ret_state *st, struct tl_ret_thread *rt, uintptr_t sp)
{
	while (rt->top != &rt->base && is_dead(rt->top, sp))
		abandon(st, rt, rt->top);
}

/*
 * Seen from an entry at sp: those that have jumped to it are there now. One that has not, and neither waits for what
 * runs there, has lost its frame, however far down the list it is.
 */
static RARE void arrive(struct tl_ret_state *st, struct tl_ret_thread *rt, uintptr_t sp)
{
	struct tl_ret_instance *i, *down;

	for (i = rt->top; i != &rt->base; i = down) {
		down = i->down;
		if (i->call.sp != sp)
			continue;
		if (i->flags & CALL_JUMPED) {
			wait_as(st, rt, i, CALL_AWAY);
		} else if (!waits(i) && !(i->flags & CALL_AGAIN)) {
			take_out(st, rt, i);
			give_up(st, rt, i);
		}
	}
}

static RARE void look_around(struct tl_ret_state *st, struct tl_ret_thread *rt, uintptr_t sp)
{
	arrive(st, rt, sp);
	sink_at(st, rt, sp);
}

/* The caller's part: zeros and handler. */
static inline void prepare(struct tl_ret_state *st, struct tl_ret_instance *i, struct tl_regs *regs,
	struct tl_thread *self)
{
	if (__builtin_expect(st->data_words != 0, 0))
		for (uint32_t n = 0; n < st->data_words; n++)
			i->data[n] = 0;
	if (st->on_entry && st->on_entry(&i->call, regs, self))
		i->flags |= CALL_SKIP;
}

/* rt->next is the new call's record. */
static inline struct tl_ret_instance *enter(struct tl_ret_thread *rt, const struct tl_regs *regs)
{
	struct tl_ret_instance *i = rt->next;

	set_top(rt, i);
	i->call.sp = TL_REGS_SP(regs);
	i->call.ret_ip = TL_REGS_RET_IP(regs);
	return i;
}

/* Has the newest call come back to its entry by a jump? */
static bool goes_round(struct tl_ret_thread *rt, uintptr_t sp)
{
	if (!(rt->top->flags & CALL_AGAIN) || rt->top->call.sp != sp)
		return false;
	rt->top->flags &= ~(uint32_t)CALL_AGAIN;
	return true;
}

static RARE int unusual_entry(struct tl_ret_state *st, struct tl_regs *regs, struct tl_thread *self)
{
	struct tl_ret_thread *rt = calls_of(st, self);
	uintptr_t sp = TL_REGS_SP(regs);

	if (!rt) {
		count_missed(st->rp, TL_MISSED_NUMBER);
		return 0;
	}
	if (goes_round(rt, sp))
		return 0;
	abandon_dead(st, rt, sp);
	look_around(st, rt, sp);
	if (!rt->next)
		take_from_pool(st, rt);
	if (rt->next)
		prepare(st, enter(rt, regs), regs, self);
	return 0;
}

/* Usually no frame has been lost, and a record lies ready. As few branches as can be, and none of them taken. */
static inline bool usual_entry(
	const struct tl_ret_thread *rt, const struct tl_regs *regs, const struct tl_thread *self)
{
	return !((rt->tid ^ self->tid) | rt->nwaiting | rt->nadrift) &&
	       !tl_ret_is_below(rt->top, TL_REGS_SP(regs)) && rt->next;
}

/* One load less than p->data. */
static inline struct tl_ret_state *state_of_entry(struct tl_probe *p)
{
	return (void *)((uint8_t *)p - offsetof(struct tl_ret_state, entry));
}

/* Nothing of the caller's to be done. */
int tl_ret_entry_hit(struct tl_probe *p, struct tl_regs *regs, struct tl_thread *self)
{
	struct tl_ret_state *st = state_of_entry(p);
	struct tl_ret_thread *rt = tl_ret_thread_of(st, tl_ret_known(self));

	if (!usual_entry(rt, regs, self))
		return unusual_entry(st, regs, self);
	enter(rt, regs);
	return 0;
}

int tl_ret_entry_prepare_hit(struct tl_probe *p, struct tl_regs *regs, struct tl_thread *self)
{
	struct tl_ret_state *st = state_of_entry(p);
	struct tl_ret_thread *rt = tl_ret_thread_of(st, tl_ret_known(self));

	if (!usual_entry(rt, regs, self))
		return unusual_entry(st, regs, self);
	prepare(st, enter(rt, regs), regs, self);
	return 0;
}

/* --- exits -------------------------------------------------------------------- */

/*
 * The newest call that entered at sp, or NULL. Those adrift are newer than what the list still has of that place. Newer
 * ones in front of it have lost their frames.
 */
static struct tl_ret_instance *find_call(
	struct tl_ret_state *st, struct tl_ret_thread *rt, const struct tl_regs *regs)
{
	struct tl_ret_instance *found = rt->adrift ? come_back(st, rt, regs) : NULL, *i;
	uintptr_t sp = TL_REGS_SP(regs);

	if (found)
		return found;
	for (found = rt->top; found != &rt->base && found->call.sp != sp; found = found->down)
		;
	if (found == &rt->base)
		return NULL;
	for (i = rt->top; i != found;)
		i = i->call.sp != sp && tl_ret_is_below(i, sp) ? abandon(st, rt, i) : i->down;
	return found;
}

/* tail_to 0: it returns. */
static void finish(struct tl_ret_state *st, struct tl_ret_thread *rt, struct tl_ret_instance *i,
	struct tl_regs *regs, struct tl_thread *self, uintptr_t tail_to)
{
	if (tail_to)
		tl_count(&st->rp->ntails);
	if (!(i->flags & CALL_SKIP) && !(tail_to && st->needs_result)) {
		i->call.tail_to = tail_to;
		st->on_return(&i->call, regs, self);
		i->call.tail_to = 0;
	}
	leave(st, rt, i);
}

/*
 * All calls that entered at sp are over: the newest, if this is the function's
 * own exit, and those that wait. False: there was none.
 */
static bool finish_all(struct tl_ret_state *st, struct tl_ret_thread *rt, struct tl_regs *regs,
	struct tl_thread *self, bool own, uintptr_t tail_to)
{
	struct tl_ret_instance *i;
	bool any = false;

	while ((i = find_call(st, rt, regs)) && (waits(i) || (own && !any))) {
		any = true;
		if (waits(i) && i->call.ret_ip != TL_REGS_RET_IP(regs))
			abandon(st, rt, i);
		else
			finish(st, rt, i, regs, self, tail_to);
	}
	return any;
}

static RARE int unusual_exit(struct tl_probe *p, struct tl_regs *regs, struct tl_thread *self)
{
	struct tl_ret_state *st = p->data;
	struct tl_ret_thread *rt = calls_of(st, self);

	if (!rt || finish_all(st, rt, regs, self, true, 0))
		return 0;
	if (rt->lost) {
		rt->lost--; /* counted at its entry */
	} else {
		tl_count(&st->rp->nmissed);
		tl_count(&st->rp->nunpaired);
	}
	return 0;
}

/* Usually the newest call returns, and stays linked for the next one. */
int tl_ret_exit_hit(struct tl_probe *p, struct tl_regs *regs, struct tl_thread *self)
{
	const struct tl_ret_exit *e = (void *)p;
	struct tl_ret_thread *rt = tl_ret_thread_at(e, tl_ret_known(self));
	struct tl_ret_instance *i = rt->top;

	if (((rt->tid ^ self->tid) | rt->nwaiting) || i->call.sp != TL_REGS_SP(regs) || i->flags)
		return unusual_exit(p, regs, self);
	rt->top = i->down;
	rt->next = i;
	e->on_return(&i->call, regs, self);
	return 0;
}

/* --- tail calls --------------------------------------------------------------- */

bool tl_ret_inside(const struct tl_ret_state *st, uintptr_t to)
{
	for (size_t n = 0; n < st->nparts; n++)
		if (to - st->parts[n].start < st->parts[n].size)
			return to != (uintptr_t)st->rp->entry;
	return false;
}

/* 0: not taken, or it stays in the function. */
static uintptr_t jump_target(
	const struct tl_ret_state *st, const struct tl_ret_exit *re, const struct tl_regs *regs)
{
	const struct tl_exit *e = &re->exit;
	uintptr_t to = e->target;

	if (e->kind == TL_EXIT_TAIL_COND && !tl_arch_cond_holds(e->cond, regs))
		return 0;
	if (e->slot)
		to = tl_ret_bound(re, *(const uintptr_t *)e->slot);
	else if (e->kind == TL_EXIT_COMPUTED)
		to = tl_arch_exit_target(e, regs);
	return tl_ret_inside(st, to) ? 0 : to;
}

/* Those that left at sp, and with `own` the newest one, go on there. */
static void jump_all(struct tl_ret_state *st, struct tl_ret_thread *rt, struct tl_regs *regs,
	bool own, uint32_t how)
{
	uintptr_t sp = TL_REGS_SP(regs), ret_ip = TL_REGS_RET_IP(regs);
	struct tl_ret_instance *i = find_call(st, rt, regs);

	for (; i && i != &rt->base && i->call.sp == sp; i = i->down, own = false)
		if (own || (waits(i) && i->call.ret_ip == ret_ip))
			wait_as(st, rt, i, how);
}

/* Of a return probe's own function. */
static bool is_loop(const struct tl_ret_state *st, const struct tl_exit *e)
{
	return !e->slot && e->target == (uintptr_t)st->rp->entry;
}

static void loop(struct tl_ret_state *st, struct tl_ret_thread *rt, const struct tl_regs *regs)
{
	struct tl_ret_instance *i = find_call(st, rt, regs);

	if (i && !waits(i))
		i->flags |= CALL_AGAIN;
}

/* How calls that jump to there wait; 0: nobody watches. */
static uint32_t goes_on(const struct tl_ret_state *st, uintptr_t to)
{
	const struct tl_ret_watch *w;

	if (to == (uintptr_t)st->rp->entry)
		return CALL_JUMPED;
	w = tl_ret_followed(st, to);
	if (!w)
		return 0;
	return to == w->part.start ? CALL_JUMPED : CALL_AWAY; /* no entry comes */
}

/* In this thread. */
static bool may_wait(const struct tl_ret_thread *rt, const struct tl_thread *self)
{
	return rt->nwaiting || tl_ret_waiting_room(self);
}

static void jump(struct tl_ret_state *st, const struct tl_ret_exit *e, struct tl_regs *regs,
	struct tl_thread *self, bool own)
{
	uintptr_t sp = TL_REGS_SP(regs), to = jump_target(st, e, regs);
	struct tl_ret_thread *rt = to ? calls_of(st, self) : NULL;
	bool may;
	uint32_t how;

	if (!rt)
		return;
	if (own && is_loop(st, &e->exit)) {
		loop(st, rt, regs);
		return;
	}
	may = may_wait(rt, self);
	how = may ? goes_on(st, to) : 0;
	if (may && !how)
		tl_ret_want(st, to);
	if (find_call(st, rt, regs)) {
		if (how)
			jump_all(st, rt, regs, own, how);
		else if (finish_all(st, rt, regs, self, own, to) && !may)
			tl_count(&st->rp->ncrowded);
	} else if (own && may && rt->top->call.sp - sp < TL_RET_FAR) {
		/* Its frame still stands: a jump to a part (.cold) that we were not told of, and which may return. */
		wait_as(st, rt, rt->top, CALL_AWAY);
	}
}

int tl_ret_jump_hit(struct tl_probe *p, struct tl_regs *regs, struct tl_thread *self)
{
	jump(p->data, (struct tl_ret_exit *)p, regs, tl_ret_known(self), true);
	return 0;
}

/* --- functions that are followed ---------------------------------------------- */

typedef void (*waiting_fn)(struct tl_ret_state *st, const struct tl_probe *p, struct tl_regs *regs,
	struct tl_thread *self);

static inline bool follows(const struct tl_ret_state *st, const struct tl_ret_watch *w)
{
	uint32_t n = TL_LOAD(&st->nfollowed), i = 0;

	while (i < n && st->followed[i].watch != w)
		i++;
	return i < n;
}

/* For each return probe that follows this function and has calls waiting in this thread. */
static inline int each_waiting(
	const struct tl_probe *p, struct tl_regs *regs, struct tl_thread *self, waiting_fn fn)
{
	const struct tl_ret_waiting *w = tl_ret_waiting_of(tl_ret_known(self));

	if (w->tid != self->tid)
		return 0;
	for (uint32_t n = w->n; n--;) {
		struct tl_ret_state *st = TL_LOAD(&w->at[n]);

		if (st && follows(st, p->data) && tl_ret_thread_of(st, self)->tid == self->tid)
			fn(st, p, regs, self);
	}
	return 0;
}

/* Entered anew at a stack pointer where somebody waits for it: that call has lost its frame. */
static void entered(struct tl_ret_state *st, const struct tl_probe *p, struct tl_regs *regs,
	struct tl_thread *self)
{
	struct tl_ret_thread *rt = tl_ret_thread_of(st, self);
	uintptr_t sp = TL_REGS_SP(regs);

	(void)p;
	if (is_dead(rt->top, sp))
		abandon_dead(st, rt, sp);
	look_around(st, rt, sp);
}

static void returned(struct tl_ret_state *st, const struct tl_probe *p, struct tl_regs *regs,
	struct tl_thread *self)
{
	(void)p;
	finish_all(st, tl_ret_thread_of(st, self), regs, self, false, 0);
}

static void jumped(struct tl_ret_state *st, const struct tl_probe *p, struct tl_regs *regs,
	struct tl_thread *self)
{
	jump(st, (const struct tl_ret_exit *)p, regs, self, false);
}

int tl_ret_watch_entry_hit(struct tl_probe *p, struct tl_regs *regs, struct tl_thread *self)
{
	return each_waiting(p, regs, self, entered);
}

int tl_ret_watch_exit_hit(struct tl_probe *p, struct tl_regs *regs, struct tl_thread *self)
{
	return each_waiting(p, regs, self, returned);
}

int tl_ret_watch_jump_hit(struct tl_probe *p, struct tl_regs *regs, struct tl_thread *self)
{
	return each_waiting(p, regs, self, jumped);
}

/* --- the end ------------------------------------------------------------------ */

void tl_ret_thread_forget(struct tl_ret_state *st, const struct tl_thread *self)
{
	struct tl_ret_thread *rt = tl_ret_thread_of(st, self);
	struct tl_ret_instance *i;

	if (!rt->top)
		return;
	start(st, rt, 0);
	while ((i = rt->base.up)) {
		rt->base.up = i->up;
		give_to_pool(st, i);
	}
	if (rt->keeps)
		__atomic_sub_fetch(&st->keepers, 1, __ATOMIC_RELAXED);
	tl_fill(rt, 0, sizeof(*rt));
}
