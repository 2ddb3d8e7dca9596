/* SPDX-License-Identifier: MIT */
/* Threads that the agent is told of before their handlers ask. */
#include "../../base/proc.h"
#include "../guardian.h"
#include "publish.h"

static uint64_t *place_of(struct guardian *g, uint32_t number)
{
	return &g->ctl->threads[number & (TL_CTL_THREADS - 1)];
}

uint32_t own_number(const struct guardian *g, pid_t pid)
{
	return g->nested ? proc_own_number(pid) : (uint32_t)pid;
}

uint64_t thread_ids(const struct guardian *g, const struct thread *t)
{
	return own_number(g, t->tid) | (uint64_t)own_number(g, t->tgid) << 32;
}

void thread_unpublish(struct guardian *g, struct thread *t)
{
	if (t->number && (uint32_t)*place_of(g, t->number) == t->number)
		__atomic_store_n(place_of(g, t->number), 0, __ATOMIC_RELEASE);
	t->number = 0;
}

/* Whoever shares the target's memory without being of it asks: its thread block may be another's. */
void thread_publish(struct guardian *g, struct thread *t)
{
	uint64_t ids;

	if (t->tgid != g->pid || t->dead)
		return;
	thread_unpublish(g, t);
	ids = thread_ids(g, t);
	t->number = (uint32_t)ids;
	if (t->number)
		__atomic_store_n(place_of(g, t->number), ids, __ATOMIC_RELEASE);
}

void threads_publish(struct guardian *g)
{
	struct thread *t;

	g->nested = proc_is_nested(g->pid);
	g->ctl->own_number = own_number(g, g->pid);
	for (t = g->threads; t; t = t->next)
		thread_publish(g, t);
}
