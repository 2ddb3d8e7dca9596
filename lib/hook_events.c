/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/*
 * Events of the trace facility that hooks raise. Such an event listens to its hooks only while somebody wants it.
 *
 * Locks: ours, then the facility's, under which want() is called, then that of the hooks.
 */
#include <fnmatch.h>
#include <stdlib.h>
#include <string.h>
#include <trapless/hook.h>
#include <trapless/hooks.h>
#include <trapless/trace.h>

#include "../trace/home.h"
#include "hook_events.h"
#include "outside.h"
#include "readers.h"

/* As __builtin_classify_type() has them. Structures, from 9 on, may begin at any multiple of what they are made of. */
enum { CLASS_FLOATING = 8, CLASS_MADE_UP = 9 };

struct hook_event {
	struct hook_event *next;
	struct tl_trace_type type;
	struct tl_trace_field fields[TL_HOOK_PARAMETERS];
	uint32_t event;
	char *names; /* copies: the file that has them may go */
};

static struct tl_lock lock;
static struct hook_event *all; /* changed under the facility's lock, too */

static void raise_event(void *data, const struct tl_hook_call *call)
{
	const struct hook_event *he = data;

	tl_trace(he->event, call->values, call->size);
}

/* --- what an event looks like --------------------------------------------------------- */

/* Of a number or a pointer of this size. */
static uint32_t alignment(uint32_t size)
{
	struct widest {
		char first;
		union {
			uint64_t number;
			long double floating;
		} second;
	};
	struct wide {
		char first;
		uint64_t second;
	};
	uint32_t most = size > sizeof(uint64_t) ? offsetof(struct widest, second)
						: offsetof(struct wide, second);

	return size < most ? size : most;
}

static uint32_t up(uint32_t n, uint32_t to)
{
	return (n + to - 1) / to * to;
}

/* The size is that of what it leads to, and its own lies in the structure. */
static bool is_reference(const struct tl_hook_parameter *p)
{
	size_t n = strlen(p->type);

	return n && p->type[n - 1] == '&';
}

/* As the compiler lays out the structure of a call's values. 0, or -TL_E_PAYLOAD. */
static int lay_out(struct hook_event *he, const struct tl_hook_info *info)
{
	uint32_t end = 0, widest = 1;

	for (unsigned i = 0; i < info->nparameters; i++) {
		const struct tl_hook_parameter *p = &info->parameter[i];
		uint32_t align;

		if (p->kind >= CLASS_MADE_UP || !p->size || is_reference(p))
			return -TL_E_PAYLOAD;
		align = alignment(p->size);
		if (align > widest)
			widest = align;
		he->fields[i] = (struct tl_trace_field){
			.offset = up(end, align),
			.size = p->size,
			.count = 1,
			.kind = p->kind == CLASS_FLOATING ? TL_TRACE_FLOATING
				: p->is_signed		  ? TL_TRACE_SIGNED
							  : TL_TRACE_UNSIGNED,
		};
		end = he->fields[i].offset + p->size;
	}
	he->type.fields = he->fields;
	he->type.nfields = info->nparameters;
	he->type.size = up(end, widest);
	return 0;
}

static const char *copy(char **to, const char *name)
{
	char *from = *to;

	*to += strlen(name) + 1;
	return strcpy(from, name);
}

static int copy_names(struct hook_event *he, const struct tl_hook_info *info)
{
	size_t size = strlen(info->name) + 1;
	char *to;

	for (unsigned i = 0; i < info->nparameters; i++)
		size += strlen(info->parameter[i].name) + 1;
	to = he->names = malloc(size);
	if (!to)
		return -TL_E_NOMEM;
	he->type.name = copy(&to, info->name);
	he->type.text = "a static hook of the program";
	for (unsigned i = 0; i < info->nparameters; i++)
		he->fields[i].name = copy(&to, info->parameter[i].name);
	return 0;
}

static void free_event(struct hook_event *he)
{
	free(he->names);
	free(he);
}

static int new_event(const struct tl_hook_info *info, struct hook_event **made)
{
	struct hook_event *he = calloc(1, sizeof(*he));
	int ret;

	if (!he)
		return -TL_E_NOMEM;
	ret = lay_out(he, info);
	if (!ret)
		ret = copy_names(he, info);
	if (ret)
		free_event(he);
	else
		*made = he;
	return ret;
}

static bool same_field(const struct tl_trace_field *a, const struct tl_trace_field *b)
{
	return a->offset == b->offset && a->size == b->size && a->kind == b->kind &&
	       !strcmp(a->name, b->name);
}

static bool same_type(const struct tl_trace_type *a, const struct tl_trace_type *b)
{
	bool same = a->nfields == b->nfields;

	for (uint32_t i = 0; same && i < a->nfields; i++)
		same = same_field(&a->fields[i], &b->fields[i]);
	return same;
}

/* --- those that there are ---------------------------------------------------------------- */

static struct hook_event *named(struct hook_event *he, const char *name)
{
	while (he && strcmp(he->type.name, name))
		he = he->next;
	return he;
}

static void link_event(struct hook_event *he)
{
	tl_trace_home_lock();
	he->next = all;
	all = he;
	tl_trace_home_unlock();
}

static void unlink_event(struct hook_event *he)
{
	struct hook_event **link = &all;

	tl_trace_home_lock();
	while (*link != he)
		link = &(*link)->next;
	*link = he->next;
	tl_trace_home_unlock();
}

static int listen(struct hook_event *he, bool wanted)
{
	int n = wanted ? tl_hooks_attach(he->type.name, raise_event, he)
		       : tl_hooks_detach(he->type.name, raise_event, he);

	return n < 0 ? n : 0;
}

/* The facility's lock is held. An event that is being declared is asked for before its number is known. */
int hook_event_want(uint32_t event, bool wanted)
{
	const struct tl_trace_type *type = tl_trace_describe(event);
	struct hook_event *he = all;

	while (he && &he->type != type)
		he = he->next;
	if (!he)
		return 0;
	he->event = event;
	return listen(he, wanted);
}

/* Nothing of it runs, and the facility does not know it. */
static int end_event(struct hook_event *he)
{
	int ret = tl_trace_withdraw(he->event);

	if (ret)
		return ret;
	unlink_event(he);
	if (!listen(he, false)) /* without memory it is still called, and stays */
		free_event(he);
	return 0;
}

static int begin_event(struct hook_event *he)
{
	int event;

	link_event(he);
	event = tl_trace_declare(&he->type);
	if (event < 0) {
		unlink_event(he);
		return event;
	}
	he->event = (uint32_t)event;
	return 0;
}

/* Hooks of a library that has come since. */
static int renew_event(struct hook_event *he)
{
	int ret;

	tl_trace_home_lock();
	ret = tl_trace_enabled(he->event) ? listen(he, true) : 0;
	tl_trace_home_unlock();
	return ret;
}

/* --- all of a pattern ---------------------------------------------------------------------- */

/* Events of hooks that have none yet, and how many hooks there are. */
struct found {
	struct hook_event *made;
	int n;
};

static int note_hook(const struct tl_hook_info *info, void *arg)
{
	struct found *found = arg;
	struct hook_event *he, *before = named(all, info->name);
	int ret = new_event(info, &he);

	if (ret)
		return ret;
	found->n++;
	if (!before)
		before = named(found->made, info->name);
	if (!before) {
		he->next = found->made;
		found->made = he;
		return 0;
	}
	if (!same_type(&before->type, &he->type))
		ret = -TL_E_PAYLOAD;
	free_event(he);
	return ret ? ret : renew_event(before);
}

static void drop_all(struct hook_event *made)
{
	while (made) {
		struct hook_event *he = made;

		made = he->next;
		free_event(he);
	}
}

/* The latest ones. */
static void end_some(unsigned n)
{
	struct hook_event *next;

	for (struct hook_event *he = all; n; he = next, n--) {
		next = he->next;
		end_event(he);
	}
}

static int begin_all(struct hook_event *made)
{
	unsigned begun = 0;
	int ret = 0;

	while (made && !ret) {
		struct hook_event *he = made;

		made = he->next;
		ret = begin_event(he);
		if (ret)
			free_event(he);
		else
			begun++;
	}
	if (ret) {
		drop_all(made);
		end_some(begun);
	}
	return ret;
}

int tl_hooks_trace(const char *pattern)
{
	struct found found = {0};
	int ret = pattern ? tl_outside(&lock) : -TL_E_INVAL;

	if (ret)
		return ret;
	tl_readers_start();
	tl_lock_take(&lock, tl_machine_thread());
	ret = tl_hooks_list(pattern, note_hook, &found);
	if (ret)
		drop_all(found.made);
	else
		ret = begin_all(found.made);
	tl_lock_release(&lock);
	return ret ? ret : found.n;
}

int tl_hooks_untrace(const char *pattern)
{
	struct hook_event *he, *next;
	int n = 0, ret = pattern ? tl_outside(&lock) : -TL_E_INVAL;

	if (ret)
		return ret;
	tl_lock_take(&lock, tl_machine_thread());
	for (he = all; he && !ret; he = next) {
		next = he->next;
		if (fnmatch(pattern, he->type.name, 0))
			continue;
		ret = end_event(he);
		n += !ret;
	}
	tl_lock_release(&lock);
	return ret ? ret : n;
}
