/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/*
 * Return probes: an ordinary probe on the entry and on every exit, and per
 * thread the list of calls under way. Only the thread itself touches its list,
 * and only inside a handler (the guard keeps its own signal handlers out), so
 * nothing is locked; calls come from a pool by one atomic bit.
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
	MAX_DATA = 2048,
	MAX_EXITS = 65536,
	FAR = 1 << 20,
	NONE = 0, /* pool indices are kept plus one */
};

struct instance {
	struct tl_ret_call call;
	uint32_t next;
	uint32_t skip;
	uint64_t data[]; /* rp->data_size bytes */
};

struct ret_thread {
	uint32_t tid; /* whose calls these are */
	uint32_t head; /* newest call */
	uint32_t lost; /* entries that found the pool empty */
	uint32_t pad;
};

struct ret_exit {
	struct tl_probe probe;
	struct tl_ret_state *state;
	uint8_t kind, cond;
};

struct tl_ret_state {
	struct tl_retprobe *rp;
	struct tl_ret_state *next;
	size_t size;
	struct tl_probe entry;
	struct tl_probe **list; /* entry and exits */
	struct ret_exit *exits;
	size_t nexits;
	struct ret_thread *threads;
	uint32_t *taken; /* bitmap of the pool */
	uint32_t max, words;
	uint8_t *pool;
	size_t step;
};

static struct tl_ret_state *states;

/* --- the pool ------------------------------------------------------------ */

static struct instance *at(const struct tl_ret_state *st, uint32_t ref)
{
	return (struct instance *)(void *)(st->pool + (ref - 1) * st->step);
}

static uint32_t take_in(uint32_t *word, uint32_t valid)
{
	uint32_t old = TL_RELAXED(word);

	while (~old & valid) {
		uint32_t bit = (uint32_t)__builtin_ctz(~old & valid);

		if (TL_CAS(word, &old, old | 1u << bit))
			return bit + 1;
	}
	return NONE;
}

static uint32_t take(struct tl_ret_state *st, unsigned from)
{
	for (uint32_t i = 0; i < st->words; i++) {
		uint32_t w = (from + i) % st->words;
		uint32_t left = st->max - 32 * w;
		uint32_t got = take_in(&st->taken[w], left >= 32 ? UINT32_MAX : (1u << left) - 1);

		if (got)
			return 32 * w + got;
	}
	return NONE;
}

static void give(struct tl_ret_state *st, uint32_t ref)
{
	tl_fill(at(st, ref)->data, 0, st->rp->data_size);
	__atomic_fetch_and(&st->taken[(ref - 1) / 32], ~(1u << (ref - 1) % 32), __ATOMIC_RELEASE);
}

/* --- lists -------------------------------------------------------------------- */

static void abandon(struct tl_ret_state *st, uint32_t *link)
{
	uint32_t ref = *link;
	struct instance *i = at(st, ref);

	*link = i->next;
	if (!i->skip)
		tl_count(&st->rp->nabandoned);
	give(st, ref);
}

static void abandon_all(struct tl_ret_state *st, struct ret_thread *rt)
{
	while (rt->head)
		abandon(st, &rt->head);
	rt->lost = 0;
}

static bool is_dead(const struct instance *i, uintptr_t sp)
{
	return i->call.sp <= sp && sp - i->call.sp < FAR;
}

static struct ret_thread *calls_of(struct tl_ret_state *st, struct tl_thread *self)
{
	struct ret_thread *rt = &st->threads[self - tl_core.env.threads];

	if (rt->tid != self->tid) {
		abandon_all(st, rt);
		rt->tid = self->tid;
	}
	return rt;
}

static int entry_hit(struct tl_probe *p, struct tl_regs *regs, struct tl_thread *self)
{
	struct tl_ret_state *st = p->data;
	struct ret_thread *rt = calls_of(st, self);
	uintptr_t sp = TL_REGS_SP(regs);
	struct instance *i;
	uint32_t ref;

	while (rt->head && is_dead(at(st, rt->head), sp))
		abandon(st, &rt->head);
	ref = take(st, (unsigned)(self - tl_core.env.threads));
	if (!ref) {
		tl_count(&st->rp->nmissed);
		rt->lost++;
		return 0;
	}
	i = at(st, ref);
	i->call = (struct tl_ret_call){st->rp, sp, tl_arch_entry_ret_ip(regs), i->data};
	i->skip = st->rp->on_entry && st->rp->on_entry(&i->call, regs, self) != 0;
	i->next = rt->head;
	rt->head = ref;
	return 0;
}

/* The link to the call that entered at sp, or NULL. Nothing is changed. */
static uint32_t *find(struct tl_ret_state *st, struct ret_thread *rt, uintptr_t sp)
{
	uint32_t *link;

	for (link = &rt->head; *link; link = &at(st, *link)->next)
		if (at(st, *link)->call.sp == sp)
			return link;
	return NULL;
}

/* Newer calls in front of the one that returns have lost their frames. */
static uint32_t *drop_newer(struct tl_ret_state *st, struct ret_thread *rt, uintptr_t sp)
{
	uint32_t *link = &rt->head;

	while (at(st, *link)->call.sp != sp)
		if (is_dead(at(st, *link), sp))
			abandon(st, link);
		else
			link = &at(st, *link)->next;
	return link;
}

static int exit_hit(struct tl_probe *p, struct tl_regs *regs, struct tl_thread *self)
{
	struct ret_exit *e = p->data;
	struct tl_ret_state *st = e->state;
	struct ret_thread *rt;
	struct instance *i;
	uint32_t *link, ref;

	if (e->kind == TL_EXIT_TAIL_COND && !tl_arch_cond_holds(e->cond, regs))
		return 0;
	rt = calls_of(st, self);
	if (!find(st, rt, TL_REGS_SP(regs))) {
		if (e->kind != TL_EXIT_RETURN)
			return 0; /* its frame still stands: a jump to a part (.cold) that we were not told of */
		if (rt->lost)
			rt->lost--; /* counted at its entry */
		else
			tl_count(&st->rp->nmissed);
		return 0;
	}
	link = drop_newer(st, rt, TL_REGS_SP(regs));
	ref = *link;
	i = at(st, ref);
	*link = i->next;
	if (!i->skip)
		st->rp->on_return(&i->call, regs, self);
	give(st, ref);
	return 0;
}

void tl_ret_thread_gone(unsigned index)
{
	struct tl_ret_state *st;

	TL_ASSERT_HELD();
	for (st = states; st; st = st->next) {
		abandon_all(st, &st->threads[index]);
		st->threads[index].tid = 0;
	}
}

/* --- finding the exits ------------------------------------------------------------ */

/* Exits of all parts; with out == NULL only their number. */
static int exits_of(
	const struct tl_func_part *parts, size_t nparts, struct tl_exit *out, size_t max)
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
	size_t step = round16(sizeof(struct instance) + rp->data_size);
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
	st->size = size;
	st->nexits = nexits;
	st->max = max;
	st->words = words;
	st->step = step;
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

		fill_probe(&e->probe, rp, exits[i].addr, exit_hit, e);
		e->state = st;
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
	n = exits_of(parts, nparts, NULL, 0);
	if (n < 0)
		return n;
	exits = tl_os_alloc(((size_t)n + 1) * sizeof(*exits));
	if (!exits)
		return -TL_E_NOMEM;
	exits_of(parts, nparts, exits, (size_t)n);
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
