/* SPDX-License-Identifier: MIT */
/* The threads that are known, of the target and of what shares its memory. */
#define _GNU_SOURCE
#include <dirent.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/ptrace.h>

#include "../../base/proc.h"
#include "../guardian.h"
#include "publish.h"
#include "threads.h"

static struct thread **bucket(struct guardian *g, pid_t tid)
{
	return &g->by_tid[tid % THREAD_BUCKETS];
}

struct thread *thread_find(const struct guardian *g, pid_t tid)
{
	struct thread *t = g->by_tid[tid % THREAD_BUCKETS];

	while (t && t->tid != tid)
		t = t->same_hash;
	return t;
}

struct thread *thread_add(struct guardian *g, pid_t tid, pid_t tgid)
{
	struct thread *t = calloc(1, sizeof(*t));

	if (!t)
		return NULL;
	t->tid = tid;
	t->tgid = tgid;
	t->next = g->threads;
	g->threads = t;
	t->same_hash = *bucket(g, tid);
	*bucket(g, tid) = t;
	g->nthreads++;
	return t;
}

void thread_drop(struct guardian *g, struct thread *t)
{
	void (*const *tell)(struct guardian *, struct thread *);
	struct thread **link = &g->threads;

	thread_unpublish(g, t);
	for (tell = g->concerns->on_drop; *tell; tell++)
		(*tell)(g, t);
	while (*link != t)
		link = &(*link)->next;
	*link = t->next;
	for (link = bucket(g, t->tid); *link != t;)
		link = &(*link)->same_hash;
	*link = t->same_hash;
	g->nthreads--;
	free(t);
}

/* Known before its own first stop, so that nobody leaves before that. */
struct thread *thread_newborn(struct guardian *g, pid_t tid)
{
	uint64_t tgid = 0;
	struct thread *t;

	proc_status(tid, "Tgid", 10, &tgid);
	t = thread_add(g, tid, (pid_t)tgid);
	if (t) {
		t->newborn = true;
		thread_publish(g, t);
	}
	return t;
}

/* In the stop that tells of it; 0: not known. */
pid_t thread_event_child(const struct thread *parent)
{
	unsigned long tid = 0;

	return ptrace(PTRACE_GETEVENTMSG, parent->tid, 0, &tid) ? 0 : (pid_t)tid;
}
