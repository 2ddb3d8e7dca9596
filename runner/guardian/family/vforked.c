/* SPDX-License-Identifier: MIT */
/*
 * A vfork child has its parent's thread pointer, and so its record, which goes
 * on being the parent's. Who runs in the child's place is told to handlers aside.
 */
#include "../guardian.h"
#include "../trace/loop.h"
#include "../trace/publish.h"
#include "../trace/threads.h"
#include "vforked.h"

enum { ANNOUNCED_MS = 100 };

/* Its parent stands at the call, and says so a moment after the child's own first stop. */
static void await_parent(struct guardian *g, struct thread *t)
{
	bool held = t->held;
	int ms = 0;

	thread_hold(t);
	while (!t->parent && !t->dead && ms < ANNOUNCED_MS && !target_ended(g)) {
		if (!loop_event(g, false)) {
			loop_for(g, 1);
			ms++;
		}
	}
	thread_unhold(t, held);
}

const struct thread *record_owner(struct guardian *g, const struct thread *t)
{
	const struct thread *parent;

	for (; t->tgid != g->pid && t->vforked; t = parent) {
		parent = thread_find(g, t->parent);
		if (!parent)
			break;
	}
	return t;
}

/* 0: a free one, NULL: there is none. */
static struct tl_ctl_vfork *place_of(const struct guardian *g, uint32_t record)
{
	unsigned i;

	for (i = 0; g->ctl && i < TL_CTL_VFORKS; i++)
		if (g->ctl->vforks[i].record == record)
			return &g->ctl->vforks[i];
	return NULL;
}

static void set(struct guardian *g, struct tl_ctl_vfork *f, uint32_t record, const struct thread *t)
{
	g->ctl->nvforks += !!record - !!f->record;
	f->tid = own_number(g, t->tid);
	f->pid = own_number(g, t->tgid);
	__atomic_store_n(&f->record, record, __ATOMIC_RELEASE);
}

/* Whose record it is waits for it, and has no other child like it. */
void vfork_begins(struct guardian *g, struct thread *t)
{
	struct tl_ctl_vfork *f;
	uint32_t record;

	await_parent(g, t);
	if (!t->vforked || t->dead)
		return;
	record = own_number(g, record_owner(g, t)->tid);
	f = place_of(g, record);
	if (!f)
		f = place_of(g, 0);
	if (f && record)
		set(g, f, record, t);
}

/* Its parent goes on, which may be such a child itself. */
void vfork_done(struct guardian *g, struct thread *parent)
{
	const struct thread *owner = record_owner(g, parent);
	uint32_t record = own_number(g, owner->tid);
	struct tl_ctl_vfork *f = record ? place_of(g, record) : NULL;

	if (f)
		set(g, f, owner == parent ? 0 : record, parent);
}
