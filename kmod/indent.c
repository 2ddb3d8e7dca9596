/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/* thread_indent() in this kernel: kept by script and task, for as long as the task is indented. */
#include <linux/hash.h>
#include <linux/mm.h>

#include "../engine/os/os.h"
#include "script.h"

enum { PLACES = 2048, PLACE_BITS = 11, LOOKED_AT = 64 };

static struct place {
	atomic64_t whose; /* 0: nobody's */
	struct tl_indent kept;
} places[PLACES];

/* Of this place's number behind the one that the hash names. */
static struct place *at_step(u64 whose, unsigned n)
{
	return &places[(hash_64(whose, PLACE_BITS) + n) % PLACES];
}

/* Only whoever it is takes it, gives it back, and so finds it in between. */
static struct place *find(u64 whose)
{
	unsigned n;

	for (n = 0; n < LOOKED_AT; n++)
		if (atomic64_read(&at_step(whose, n)->whose) == (s64)whose)
			return at_step(whose, n);
	for (n = 0; n < LOOKED_AT; n++)
		if (!atomic64_cmpxchg(&at_step(whose, n)->whose, 0, (s64)whose)) {
			at_step(whose, n)->kept = (struct tl_indent){0, 0};
			return at_step(whose, n);
		}
	return NULL;
}

/* A session has memory, of pages of its own. */
static u64 session_of(const struct tl_view *v)
{
	return (u64)(uintptr_t)v->session >> PAGE_SHIFT << 32;
}

/* Of a task, or of what has interrupted one. */
static u64 number_of(const struct tl_view *v)
{
	return session_of(v) | tl_os_thread_id(tl_os_thread_key(true));
}

int tl_home_indent(const struct tl_view *v, int64_t delta, int64_t now, struct tl_indent *at)
{
	struct place *p = find(number_of(v));

	if (!p)
		return -1;
	*at = tl_indent_change(&p->kept, delta, now);
	if (!p->kept.level)
		atomic64_set_release(&p->whose, 0);
	return 1;
}

void script_forget_indents(const struct script *s)
{
	for (unsigned i = 0; i < PLACES; i++)
		if (((u64)atomic64_read(&places[i].whose) ^ session_of(&s->outside)) <= U32_MAX)
			atomic64_set(&places[i].whose, 0);
}
