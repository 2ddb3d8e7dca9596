/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/*
 * Listeners of static hooks. A hook has a list of them, which is replaced as a whole: whoever reads one is among the readers,
 * and an old list is freed once none of those is left that may have seen it.
 */
#define _GNU_SOURCE
#include <stdlib.h>
#include <string.h>
#include <trapless/hook.h>
#include <trapless/hooks.h>

#include "../engine/core/places.h"
#include "hook_files.h"
#include "outside.h"
#include "readers.h"

/* A hook of which we know more than it does itself. */
struct heard {
	struct heard *next;
	struct tl_hook *hook;
	const char
		*file; /* its loader's string: another one where the file has gone and come back */
	struct tl_hook_listeners *list; /* NULL: nobody */
	enum tl_hooks_switch how;
	bool counted; /* we are among those who listen */
	bool places; /* it has some that are switched by their text */
};
/* What is freed when all who read it now have left. */
struct old {
	struct old *next;
};
enum { OLD_MANY = 64 };

static struct tl_lock lock;
static struct heard *all;
static struct old *outdated;
static unsigned noutdated;

static void *enter(void)
{
	return tl_readers_enter();
}

static void leave(void *entered)
{
	tl_readers_leave(entered);
}

static const struct tl_hook_readers readers = {enter, leave};

/* --- lists ------------------------------------------------------------------------ */

/* A list lies behind the link by which it is put aside. */
static struct tl_hook_listeners *list_of(struct old *o)
{
	return (struct tl_hook_listeners *)(o + 1);
}

static struct tl_hook_listeners *new_list(unsigned n)
{
	struct old *o = malloc(sizeof(*o) + sizeof(struct tl_hook_listeners) +
			       n * sizeof(struct tl_hook_listener));

	return o ? list_of(o) : NULL;
}

static void put_aside(struct tl_hook_listeners *list)
{
	struct old *o = (struct old *)list - 1;

	if (!list)
		return;
	o->next = outdated;
	outdated = o;
	noutdated++;
}

/* Lock not held: whoever runs may wait for it. */
static void free_all(struct old *o)
{
	while (o) {
		struct old *next = o->next;

		free(o);
		o = next;
	}
}

static unsigned count(const struct heard *h)
{
	return h->list ? h->list->n : 0;
}

static bool is(const struct tl_hook_listener *l, const struct tl_hook_listener *who)
{
	return l->fn == who->fn && l->data == who->data && l->any == who->any;
}

static bool has(const struct heard *h, const struct tl_hook_listener *who)
{
	for (unsigned i = 0; i < count(h); i++)
		if (is(&h->list->listener[i], who))
			return true;
	return false;
}

static void store_list(struct tl_hook *hook, const void *list)
{
	__atomic_store_n(&hook->readers, &readers, __ATOMIC_RELEASE);
	__atomic_store_n(&hook->listeners, list, __ATOMIC_RELEASE);
}

/* In place of the one that it had. False: the hook has gone, and nothing of it is changed. */
static bool replace(struct heard *h, struct tl_hook_listeners *list)
{
	if (!hook_files_touch(h->hook, h->file, store_list, list))
		return false;
	put_aside(h->list);
	h->list = list;
	return true;
}

/* The list with one more, or without: 0, -TL_E_NOMEM or -TL_E_NO_HOOK. */
static int add(struct heard *h, const struct tl_hook_listener *who)
{
	unsigned n = count(h);
	struct tl_hook_listeners *list = new_list(n + 1);

	if (!list)
		return -TL_E_NOMEM;
	for (unsigned i = 0; i < n; i++)
		list->listener[i] = h->list->listener[i];
	list->listener[n] = *who;
	list->n = n + 1;
	if (replace(h, list))
		return 0;
	put_aside(list);
	return -TL_E_NO_HOOK;
}

static int take_out(struct heard *h, const struct tl_hook_listener *who)
{
	unsigned n = count(h), k = 0;
	struct tl_hook_listeners *list = n > 1 ? new_list(n - 1) : NULL;

	if (n > 1 && !list)
		return -TL_E_NOMEM;
	for (unsigned i = 0; list && i < n; i++)
		if (!is(&h->list->listener[i], who))
			list->listener[k++] = h->list->listener[i];
	if (list)
		list->n = k;
	if (replace(h, list))
		return 0;
	put_aside(list);
	return -TL_E_NO_HOOK;
}

/* --- on and off -------------------------------------------------------------------- */

static bool wanted(const struct heard *h)
{
	return h->how == TL_HOOKS_ON || (h->how == TL_HOOKS_AUTO && h->list);
}

static void count_in(struct tl_hook *hook, const void *arg)
{
	(void)arg;
	__atomic_fetch_add(&hook->on, 1, __ATOMIC_SEQ_CST);
}

static void count_out(struct tl_hook *hook, const void *arg)
{
	(void)arg;
	__atomic_fetch_sub(&hook->on, 1, __ATOMIC_SEQ_CST);
}

/* The word first, then the places; the other way round on leaving. */
static int follow(struct heard *h)
{
	bool on = wanted(h);
	int ret = 0;

	if (on == h->counted)
		return 0;
	if (on && !hook_files_touch(h->hook, h->file, count_in, NULL))
		return -TL_E_NO_HOOK;
	if (h->places)
		ret = on ? tl_places_on((uintptr_t)h->hook, NULL)
			 : tl_places_off((uintptr_t)h->hook);
	if (!ret)
		h->counted = on;
	if (!h->counted)
		hook_files_touch(h->hook, h->file, count_out, NULL);
	return ret;
}

/* --- what we know ------------------------------------------------------------------- */

static struct heard *known(const struct tl_hook *hook)
{
	struct heard *h;

	for (h = all; h && h->hook != hook; h = h->next)
		;
	return h;
}

/* Nothing more than the file says itself. */
static void forget_idle(struct heard *h)
{
	struct heard **link = &all;

	if (h->list || h->counted || h->how != TL_HOOKS_AUTO)
		return;
	while (*link != h)
		link = &(*link)->next;
	*link = h->next;
	free(h);
}

/* What lies there now is not what we have known: its file has gone, and nothing of it may be touched. */
static bool is_same(const struct heard *h, const struct hook_found *f)
{
	return h->file == f->info.file && f->listeners == h->list && (f->info.on || !h->counted);
}

static struct heard *learn(const struct hook_found *f)
{
	struct heard *h = known(f->info.hook);

	if (h && is_same(h, f))
		return h;
	if (!h) {
		h = calloc(1, sizeof(*h));
		if (!h)
			return NULL;
		h->next = all;
		all = h;
	} else {
		put_aside(h->list);
		h->list = NULL;
		h->counted = false;
		h->how = TL_HOOKS_AUTO;
	}
	h->hook = f->info.hook;
	h->file = f->info.file;
	h->places = f->info.nplaces != 0;
	return h;
}

/* As hook_files_read(), with what we know besides. Lock held. */
static int look(uintptr_t word, const char *pattern, struct hooks_found *found)
{
	int ret = hook_files_read(word, pattern, found);

	for (size_t i = 0; i < found->n; i++) {
		struct hook_found *f = &found->hook[i];
		const struct heard *h = f->why ? NULL : known(f->info.hook);

		f->info.nlisteners = h && is_same(h, f) ? count(h) : 0;
	}
	return ret;
}

/* --- one hook --------------------------------------------------------------------------- */

/* What is done to hooks: to one, or to all that fit. */
struct task {
	struct tl_hook_listener who;
	enum tl_hooks_switch how;
	int (*to)(struct heard *h, const struct task *task); /* 0, -TL_E_, or SKIPPED */
	int (*back)(struct heard *h, const struct task *task); /* undoes it */
};

static int attach(struct heard *h, const struct task *t)
{
	int ret = has(h, &t->who) ? -TL_E_STATE : add(h, &t->who);

	if (ret)
		return ret;
	ret = follow(h);
	if (ret)
		take_out(h, &t->who);
	return ret;
}

static int detach(struct heard *h, const struct task *t)
{
	int ret;

	if (!has(h, &t->who))
		return -TL_E_STATE;
	ret = take_out(h, &t->who);
	return ret ? ret : follow(h);
}

static int set(struct heard *h, const struct task *t)
{
	enum tl_hooks_switch before = h->how;
	int ret;

	h->how = t->how;
	ret = follow(h);
	if (ret)
		h->how = before;
	return ret;
}

static int do_one(const struct hook_found *f, const struct task *t)
{
	struct heard *h;
	int ret;

	if (f->why)
		return f->why;
	h = learn(f);
	if (!h)
		return -TL_E_NOMEM;
	ret = t->to(h, t);
	forget_idle(h);
	return ret;
}

static void undo(const struct hook_found *f, const struct task *t)
{
	struct heard *h = known(f->info.hook);

	if (!h)
		return;
	t->back(h, t);
	forget_idle(h);
}

/* How many, or the first refusal, with nothing changed where the task can be undone. */
static int do_all(struct hooks_found *found, const struct task *t)
{
	size_t i;
	int n = 0, ret = 0;

	for (i = 0; i < found->n; i++) {
		struct hook_found *f = &found->hook[i];

		ret = do_one(f, t);
		if (ret == -TL_E_STATE || ret == -TL_E_NO_HOOK) { /* as it is to be, or has gone */
			f->info.hook = NULL;
			continue;
		}
		if (ret)
			break;
		n++;
	}
	if (i == found->n)
		return n;
	while (t->back && i--)
		if (found->hook[i].info.hook)
			undo(&found->hook[i], t);
	return ret;
}

/* All that were reading have left; what they may have read is freed. */
static void let_pass(void)
{
	struct old *o;

	tl_lock_take(&lock, tl_machine_thread());
	o = outdated;
	outdated = NULL;
	noutdated = 0;
	tl_lock_release(&lock);
	tl_readers_wait();
	free_all(o);
}

/* To the hook with this word, or where that is 0 to all that fit the pattern. */
static int change(uintptr_t word, const char *pattern, const struct task *t)
{
	struct hooks_found found;
	int ret = tl_outside(&lock);
	bool many;

	if (ret)
		return ret;
	tl_readers_start();
	tl_lock_take(&lock, tl_machine_thread());
	ret = look(word, pattern, &found);
	if (!ret && word)
		ret = found.n ? do_one(&found.hook[0], t) : -TL_E_NO_HOOK;
	else if (!ret)
		ret = do_all(&found, t);
	many = noutdated >= OLD_MANY;
	tl_lock_release(&lock);
	hook_files_free(&found);
	if (many || ret < 0 || t->to == detach)
		let_pass();
	return ret;
}

int tl_hook_attach(struct tl_hook *hook, tl_hook_fn fn, void *data)
{
	const struct task t = {.who = {fn, data, false}, .to = attach};

	return hook && fn ? change((uintptr_t)hook, NULL, &t) : -TL_E_INVAL;
}

int tl_hook_detach(struct tl_hook *hook, tl_hook_fn fn, void *data)
{
	const struct task t = {.who = {fn, data, false}, .to = detach};

	return hook && fn ? change((uintptr_t)hook, NULL, &t) : -TL_E_INVAL;
}

int tl_hooks_attach(const char *pattern, tl_hook_any_fn fn, void *data)
{
	const struct task t = {.who = {(tl_hook_fn)fn, data, true}, .to = attach, .back = detach};

	return pattern && fn ? change(0, pattern, &t) : -TL_E_INVAL;
}

int tl_hooks_detach(const char *pattern, tl_hook_any_fn fn, void *data)
{
	const struct task t = {.who = {(tl_hook_fn)fn, data, true}, .to = detach};

	return pattern && fn ? change(0, pattern, &t) : -TL_E_INVAL;
}

int tl_hooks_switch(const char *pattern, enum tl_hooks_switch how)
{
	const struct task t = {.how = how, .to = set};

	if (!pattern || how < TL_HOOKS_AUTO || how > TL_HOOKS_OFF)
		return -TL_E_INVAL;
	return change(0, pattern, &t);
}

/* --- what there is ------------------------------------------------------------------------ */

int tl_hooks_list(
	const char *pattern, int (*fn)(const struct tl_hook_info *info, void *arg), void *arg)
{
	struct hooks_found found;
	int ret = pattern && fn ? tl_outside(&lock) : -TL_E_INVAL;

	if (ret)
		return ret;
	tl_lock_take(&lock, tl_machine_thread());
	ret = look(0, pattern, &found);
	tl_lock_release(&lock);
	for (size_t i = 0; i < found.n && !ret; i++)
		if (!found.hook[i].why)
			ret = fn(&found.hook[i].info, arg);
	hook_files_free(&found);
	return ret;
}

int tl_hook_describe(const struct tl_hook *hook, struct tl_hook_info *info)
{
	struct hooks_found found;
	int ret = hook && info ? tl_outside(&lock) : -TL_E_INVAL;

	if (ret)
		return ret;
	tl_lock_take(&lock, tl_machine_thread());
	ret = look((uintptr_t)hook, NULL, &found);
	tl_lock_release(&lock);
	if (!ret)
		ret = found.n ? found.hook[0].why : -TL_E_NO_HOOK;
	if (!ret)
		*info = found.hook[0].info;
	hook_files_free(&found);
	return ret;
}

static int note_first(const struct tl_hook_info *info, void *arg)
{
	*(struct tl_hook **)arg = info->hook;
	return 1;
}

struct tl_hook *tl_hook_find(const char *name)
{
	struct tl_hook *hook = NULL;

	tl_hooks_list(name, note_first, &hook);
	return hook;
}
