/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/*
 * The last calls left by throw or longjmp: usually the next call of a function
 * shows that an earlier one has lost its frame, but at the end nobody comes
 * any more. So each thread's stack is held against its open calls, while the
 * exits are still probed: one above whose frame it stands, or whose return
 * address is not there any more, was left. (Not seen: who has gone deeper again
 * and happens to spare that word.) The thread may come by until the exits are
 * not probed: what was marked is counted behind that, unless a handler did so.
 */
#include "../base/broken.h"
#include "../base/mem.h"
#include "ret.h"

typedef void (*call_fn)(struct tl_ret_state *st, struct tl_ret_instance *i, void *arg);

static void calls_of(struct tl_ret_state *list, const struct tl_thread *t, call_fn fn, void *arg)
{
	for (struct tl_ret_state *st = list; st; st = st->next) {
		const struct tl_ret_thread *rt = tl_ret_thread_of(st, t);

		if (!st->used || !rt->top)
			continue;
		for (struct tl_ret_instance *i = rt->top; i != &rt->base; i = i->down)
			fn(st, i, arg);
	}
}

static void all_calls(struct tl_ret_state *list, call_fn fn, void *arg)
{
	const struct tl_thread *t;

	for (uint32_t n = 1; n <= tl_ret_numbers(); n++)
		if ((t = tl_ret_numbered(n)) != NULL)
			calls_of(list, t, fn, arg);
}

static bool is_left(const struct tl_ret_instance *i, const struct tl_os_stack *s)
{
	if (!s->sp || i->call.sp == s->sp || i->call.sp - s->lo >= s->hi - s->lo)
		return false;
	return tl_ret_is_below(i, s->sp) || !tl_arch_call_stands(i->call.sp, i->call.ret_ip);
}

static void mark(struct tl_ret_state *st, struct tl_ret_instance *i, void *arg)
{
	(void)st;
	i->left = is_left(i, arg);
}

static void see(void *arg, const struct tl_os_stack *s)
{
	const struct tl_thread *t;

	for (uint32_t n = 1; n <= tl_ret_numbers(); n++)
		if ((t = tl_ret_numbered(n)) != NULL && TL_LOAD(&t->tid) == s->tid)
			calls_of(arg, t, mark, (void *)s);
}

static void note(struct tl_ret_state *st, struct tl_ret_instance *i, void *arg)
{
	(void)st;
	(void)i;
	*(bool *)arg = true;
}

void tl_ret_mark_left(struct tl_ret_state *list)
{
	bool any = false;

	TL_ASSERT_HELD();
	all_calls(list, note, &any);
	if (any)
		tl_os_stacks(see, list);
}

static void count(struct tl_ret_state *st, struct tl_ret_instance *i, void *arg)
{
	(void)arg;
	if (i->left && !(i->flags & CALL_SKIP))
		tl_count(&st->rp->nabandoned);
}

void tl_ret_count_left(struct tl_ret_state *list)
{
	all_calls(list, count, NULL);
}
