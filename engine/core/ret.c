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
 * later entry or exit has lost its frame to throw or longjmp. Calls far away
 * (FAR) are left alone: they live on another stack.
 *
 * A tail call counts as the return of the function that makes it: on_return
 * runs before the callee, whose result it cannot see.
 */
#include "internal.h"

enum {
	DEFAULT_ACTIVE = 4096,
	MAX_ACTIVE = 1 << 20,
	MAX_DATA = 2048, /* as probe.h says */
	MAX_EXITS = 65536,
	FAR = 1 << 20,
	KEPT = 8, /* calls that a thread may keep */
};

enum { SKIP = 1, LOAN = 2 };

struct instance {
	struct tl_ret_call call;
	struct instance *down, *up; /* older call; newer one, or one to be used again */
	uint32_t flags; /* SKIP: no on_return; LOAN: back into the pool when done */
	uint64_t data[]; /* st->data_words */
};

struct ret_thread {
	struct instance *top; /* newest call, &base: none; NULL: not used yet */
	uint32_t tid; /* whose calls these are */
	uint32_t lost; /* entries that found the pool empty */
	uint32_t nkept;
	bool keeps; /* some: counted in st->keepers */
	struct instance base; /* the end of the list; its stack pointer is that of no call */
};

struct ret_exit {
	struct tl_probe probe; /* first */
	uint8_t kind, cond;
};

struct tl_ret_state {
	tl_ret_entry_fn on_entry; /* the caller's, near at hand */
	tl_ret_fn on_return;
	struct ret_thread *threads;
	uint32_t data_words;
	uint32_t keepers; /* threads that keep some */
	struct tl_retprobe *rp;
	struct tl_ret_state *next;
	size_t size;
	struct tl_probe entry;
	struct tl_probe **list; /* entry and exits */
	struct ret_exit *exits;
	size_t nexits;
	uint32_t *taken; /* bitmap of the pool */
	uint32_t max, words;
	uint8_t *pool;
	size_t step;
};

static struct tl_ret_state *states;

/* Out of the way of the usual call, which then saves no registers for it. */
#define RARE __attribute__((__noinline__, __cold__))

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

static void give_to_pool(struct tl_ret_state *st, struct instance *i)
{
	size_t n = (size_t)((uint8_t *)i - st->pool) / st->step;

	__atomic_fetch_and(&st->taken[n / 32], ~(1u << n % 32), __ATOMIC_RELEASE);
}

/* May this thread keep one more? */
static bool may_keep(struct tl_ret_state *st, struct ret_thread *rt)
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

/* Links it in above the newest call. */
static void put_above(struct ret_thread *rt, struct instance *i)
{
	i->down = rt->top;
	i->up = rt->top->up;
	if (i->up)
		i->up->down = i;
	rt->top->up = i;
}

/* One more above the newest call; NULL: counted as missed. */
static RARE struct instance *take_from_pool(struct tl_ret_state *st, struct ret_thread *rt)
{
	uint32_t from = (uint32_t)(rt - st->threads);

	for (uint32_t n = 0; n < st->words; n++) {
		uint32_t w = (from + n) % st->words;
		uint32_t left = st->max - 32 * w;
		uint32_t got = take_in(&st->taken[w], left >= 32 ? UINT32_MAX : (1u << left) - 1);
		struct instance *i = (void *)(st->pool + (32 * w + got - 1) * st->step);

		if (!got)
			continue;
		i->call.rp = st->rp;
		i->call.data = i->data;
		i->flags = may_keep(st, rt) ? 0 : LOAN;
		put_above(rt, i);
		return i;
	}
	tl_count(&st->rp->nmissed);
	rt->lost++;
	return NULL;
}

/* --- lists -------------------------------------------------------------------- */

/* Done with this call, wherever it stands. */
static void leave(struct tl_ret_state *st, struct ret_thread *rt, struct instance *i)
{
	if (i == rt->top)
		rt->top = i->down;
	i->down->up = i->up;
	if (i->up)
		i->up->down = i->down;
	i->flags &= ~(uint32_t)SKIP;
	if (i->flags & LOAN)
		give_to_pool(st, i);
	else
		put_above(rt, i);
}

static void abandon(struct tl_ret_state *st, struct ret_thread *rt, struct instance *i)
{
	if (!(i->flags & SKIP))
		tl_count(&st->rp->nabandoned);
	leave(st, rt, i);
}

/* The record is used for the first time, or by another thread now. */
static RARE void start(struct tl_ret_state *st, struct ret_thread *rt, uint32_t tid)
{
	if (!rt->top) {
		rt->base.call.sp = UINTPTR_MAX;
		rt->top = &rt->base;
	}
	while (rt->top != &rt->base)
		abandon(st, rt, rt->top);
	rt->lost = 0;
	rt->tid = tid;
}

static inline bool is_dead(const struct instance *i, uintptr_t sp)
{
	return i->call.sp <= sp && sp - i->call.sp < FAR;
}

static RARE void abandon_dead(struct tl_ret_state *st, struct ret_thread *rt, uintptr_t sp)
{
	while (is_dead(rt->top, sp))
		abandon(st, rt, rt->top);
}

static int entry_hit(struct tl_probe *p, struct tl_regs *regs, struct tl_thread *self)
{
	struct tl_ret_state *st = p->data;
	struct ret_thread *rt = &st->threads[self - tl_core.env.threads];
	uintptr_t sp = TL_REGS_SP(regs);
	struct instance *i;

	if (rt->tid != self->tid)
		start(st, rt, self->tid);
	if (is_dead(rt->top, sp))
		abandon_dead(st, rt, sp);
	i = rt->top->up;
	if (!i) {
		i = take_from_pool(st, rt);
		if (!i)
			return 0;
	}
	rt->top = i;
	i->call.sp = sp;
	for (uint32_t n = 0; n < st->data_words; n++)
		i->data[n] = 0;
	i->call.ret_ip = tl_arch_entry_ret_ip(regs);
	if (st->on_entry && st->on_entry(&i->call, regs, self))
		i->flags |= SKIP;
	return 0;
}

/* The call that entered at sp, or NULL. Newer ones in front of it have lost their frames. */
static struct instance *find_call(struct tl_ret_state *st, struct ret_thread *rt, uintptr_t sp)
{
	struct instance *found = rt->top, *i, *down;

	while (found != &rt->base && found->call.sp != sp)
		found = found->down;
	if (found == &rt->base)
		return NULL;
	for (i = rt->top; i != found; i = down) {
		down = i->down;
		if (is_dead(i, sp))
			abandon(st, rt, i);
	}
	return found;
}

static RARE int unusual_exit(struct tl_probe *p, struct tl_regs *regs, struct tl_thread *self)
{
	struct tl_ret_state *st = p->data;
	struct ret_thread *rt = &st->threads[self - tl_core.env.threads];
	struct instance *i;

	if (rt->tid != self->tid)
		start(st, rt, self->tid);
	i = find_call(st, rt, TL_REGS_SP(regs));
	if (i) {
		if (!(i->flags & SKIP))
			st->on_return(&i->call, regs, self);
		leave(st, rt, i);
		return 0;
	}
	if (((struct ret_exit *)p)->kind != TL_EXIT_RETURN)
		return 0; /* its frame still stands: a jump to a part (.cold) that we were not told of */
	if (rt->lost)
		rt->lost--; /* counted at its entry */
	else
		tl_count(&st->rp->nmissed);
	return 0;
}

/* Usually the newest call returns, and stays linked for the next one. */
static int exit_hit(struct tl_probe *p, struct tl_regs *regs, struct tl_thread *self)
{
	struct tl_ret_state *st = p->data;
	struct ret_thread *rt = &st->threads[self - tl_core.env.threads];
	struct instance *i = rt->top;

	if (rt->tid != self->tid || i->call.sp != TL_REGS_SP(regs) || i->flags)
		return unusual_exit(p, regs, self);
	rt->top = i->down;
	st->on_return(&i->call, regs, self);
	return 0;
}

static int cond_exit_hit(struct tl_probe *p, struct tl_regs *regs, struct tl_thread *self)
{
	const struct ret_exit *e = (const struct ret_exit *)p;

	return tl_arch_cond_holds(e->cond, regs) ? exit_hit(p, regs, self) : 0;
}

void tl_ret_thread_gone(unsigned index)
{
	struct tl_ret_state *st;

	TL_ASSERT_HELD();
	for (st = states; st; st = st->next) {
		struct ret_thread *rt = &st->threads[index];
		struct instance *i;

		if (!rt->top)
			continue;
		start(st, rt, 0);
		while ((i = rt->base.up)) {
			rt->base.up = i->up;
			give_to_pool(st, i);
		}
		if (rt->keeps)
			__atomic_sub_fetch(&st->keepers, 1, __ATOMIC_RELAXED);
		tl_fill(rt, 0, sizeof(*rt));
	}
}

/* --- finding the exits ------------------------------------------------------------ */

/* Exits of all parts; with out == NULL only their number. */
static int exits_of(const struct tl_func_part *parts, size_t nparts, struct tl_exit *out,
	size_t max, uintptr_t *bad)
{
	size_t n = 0;

	for (size_t i = 0; i < nparts; i++) {
		const struct tl_image *img;
		int got = tl_refuse_addr(parts[i].start, &img);

		if (!got)
			got = tl_func_get(
				&tl_core.func, parts[i].start, parts[i].start, parts[i].size);
		if (got)
			return got;
		tl_arch_code_leaves(&tl_core.func.code, tl_image_note_entry, NULL);
		got = tl_arch_exits(
			&tl_core.func.code, parts, nparts, out ? out + n : NULL, out ? max - n : 0);
		if (got == -TL_E_NO_EXIT) {
			struct tl_exit one = {0};

			tl_arch_exits(&tl_core.func.code, parts, nparts, &one, 1);
			*bad = one.addr;
		}
		if (got < 0)
			return got;
		n += (size_t)got;
		if (n > MAX_EXITS)
			return -TL_E_LIMIT;
	}
	return (int)n;
}

static size_t round16(size_t n)
{
	return (n + 15) & ~(size_t)15;
}

/* One allocation holds everything; the cursor walks through it. */
static void *part_of(uint8_t **cursor, size_t size)
{
	void *mem = *cursor;

	*cursor += round16(size);
	return mem;
}

static struct tl_ret_state *state_create(struct tl_retprobe *rp, size_t nexits)
{
	uint32_t max = rp->maxactive ? rp->maxactive : DEFAULT_ACTIVE, words = (max + 31) / 32;
	uint32_t data_words = (rp->data_size + 7) / 8;
	size_t step = round16(sizeof(struct instance) + data_words * sizeof(uint64_t));
	size_t size = round16(sizeof(struct tl_ret_state)) +
		      round16((nexits + 1) * sizeof(void *)) +
		      round16(nexits * sizeof(struct ret_exit)) +
		      round16(TL_THREADS * sizeof(struct ret_thread)) +
		      round16(words * sizeof(uint32_t)) + max * step;
	uint8_t *mem = tl_os_alloc(size);
	struct tl_ret_state *st;

	if (!mem)
		return NULL;
	st = part_of(&mem, sizeof(*st));
	st->list = part_of(&mem, (nexits + 1) * sizeof(void *));
	st->exits = part_of(&mem, nexits * sizeof(struct ret_exit));
	st->threads = part_of(&mem, TL_THREADS * sizeof(struct ret_thread));
	st->taken = part_of(&mem, words * sizeof(uint32_t));
	st->pool = mem;
	st->rp = rp;
	st->on_entry = rp->on_entry;
	st->on_return = rp->on_return;
	st->size = size;
	st->nexits = nexits;
	st->max = max;
	st->words = words;
	st->step = step;
	st->data_words = data_words;
	return st;
}

static void fill_probe(
	struct tl_probe *p, struct tl_retprobe *rp, uintptr_t addr, tl_pre_fn pre, void *data)
{
	p->addr = (void *)addr;
	p->pre = pre;
	p->data = data;
	p->flags = rp->flags;
}

/* The entry goes first: in a function of one instruction both stand there. */
static void fill(struct tl_ret_state *st, const struct tl_exit *exits,
	const struct tl_func_part *parts, size_t nparts)
{
	struct tl_retprobe *rp = st->rp;

	fill_probe(&st->entry, rp, (uintptr_t)rp->entry, entry_hit, st);
	st->list[0] = &st->entry;
	for (size_t i = 0; i < st->nexits; i++) {
		struct ret_exit *e = &st->exits[i];

		fill_probe(&e->probe, rp, exits[i].addr,
			exits[i].kind == TL_EXIT_TAIL_COND ? cond_exit_hit : exit_hit, st);
		e->kind = exits[i].kind;
		e->cond = exits[i].cond;
		st->list[i + 1] = &e->probe;
	}
	for (size_t i = 0; i <= st->nexits; i++)
		for (size_t k = 0; k < nparts; k++)
			if ((uintptr_t)st->list[i]->addr - parts[k].start < parts[k].size) {
				st->list[i]->func_start = parts[k].start;
				st->list[i]->func_size = (uint32_t)parts[k].size;
			}
}

/* The whole part that holds the entry, where the caller does not know better. */
static int own_part(struct tl_retprobe *rp, struct tl_func_part *part)
{
	const struct tl_image *img;
	uintptr_t addr = (uintptr_t)rp->entry;
	int ret = tl_refuse_addr(addr, &img);

	if (!ret)
		ret = tl_func_get(&tl_core.func, addr, 0, 0);
	if (ret)
		return ret;
	*part = (struct tl_func_part){tl_core.func.code.start, tl_core.func.code.size};
	return 0;
}

static int state_for(struct tl_retprobe *rp, struct tl_ret_state **out)
{
	struct tl_func_part own;
	const struct tl_func_part *parts = rp->parts;
	size_t nparts = rp->nparts;
	struct tl_exit *exits;
	int n;

	if (!parts || !nparts) {
		n = own_part(rp, &own);
		if (n)
			return n;
		parts = &own;
		nparts = 1;
	}
	n = exits_of(parts, nparts, NULL, 0, &rp->bad_exit);
	if (n < 0)
		return n;
	exits = tl_os_alloc(((size_t)n + 1) * sizeof(*exits));
	if (!exits)
		return -TL_E_NOMEM;
	exits_of(parts, nparts, exits, (size_t)n, &rp->bad_exit);
	*out = state_create(rp, (size_t)n);
	if (*out)
		fill(*out, exits, parts, nparts);
	tl_os_free(exits, ((size_t)n + 1) * sizeof(*exits));
	return *out ? 0 : -TL_E_NOMEM;
}

/* --- registering ---------------------------------------------------------------------- */

static bool sane(const struct tl_retprobe *rp)
{
	return rp && rp->entry && rp->on_return && rp->data_size <= MAX_DATA &&
	       rp->maxactive <= MAX_ACTIVE && (rp->parts || !rp->nparts);
}

int tl_retprobe_register(struct tl_retprobe *rp)
{
	struct tl_ret_state *st = NULL;
	int ret;

	if (!sane(rp))
		return -TL_E_INVAL;
	if (rp->state)
		return -TL_E_STATE;
	tl_os_lock();
	ret = tl_engine_init_locked();
	tl_func_forget(&tl_core.func);
	rp->bad_exit = 0;
	if (!ret)
		ret = state_for(rp, &st);
	if (!ret) {
		rp->nmissed = rp->nabandoned = 0;
		ret = tl_probes_register_locked(st->list, st->nexits + 1, NULL);
	}
	if (!ret) {
		rp->state = st;
		st->next = states;
		states = st;
	} else if (st) {
		tl_os_free(st, st->size);
	}
	tl_os_unlock();
	return ret;
}

static int unregister_locked(struct tl_retprobe *rp)
{
	struct tl_ret_state *st = rp->state, **link;
	int ret = tl_probes_unregister_locked(st->list, st->nexits + 1);

	for (size_t i = 0; i <= st->nexits; i++)
		rp->nmissed += st->list[i]->nmissed;
	for (link = &states; *link && *link != st; link = &(*link)->next)
		;
	TL_ASSERT(*link == st);
	if (*link)
		*link = st->next;
	rp->state = NULL;
	tl_os_free(st, st->size);
	return ret;
}

int tl_retprobe_unregister(struct tl_retprobe *rp)
{
	int ret = -TL_E_STATE;

	if (!rp)
		return -TL_E_INVAL;
	tl_os_lock();
	if (rp->state)
		ret = unregister_locked(rp);
	tl_os_unlock();
	return ret;
}

void tl_ret_unregister_all(void)
{
	while (states)
		unregister_locked(states->rp);
}
