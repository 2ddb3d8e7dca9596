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

bool waits_for_child(const struct guardian *g, const struct thread *t)
{
	const struct thread *o = t->vfork_child ? thread_find(g, t->vfork_child) : NULL;

	return o && o->parent == t->tid && !o->dead;
}

bool stop_held_up(const struct guardian *g, const struct thread *t)
{
	return g->stopping && !t->stopped && waits_for_child(g, t);
}

bool stop_lasts(const struct guardian *g)
{
	return g->stopping;
}

/* Whom we trace does not end unseen. */
static bool eye_lives(const struct guardian *g)
{
	const struct thread *t = g->eye ? thread_find(g, g->eye) : NULL;

	return t && !t->exits && !t->dead ? true : g->eye && !proc_ended(g->eye);
}

pid_t eye_of(struct guardian *g)
{
	char path[64];
	struct dirent *e;
	DIR *d;

	if (eye_lives(g))
		return g->eye;
	g->eye = g->pid;
	snprintf(path, sizeof(path), "/proc/%d/task", g->pid);
	d = opendir(path);
	while (d && (e = readdir(d))) {
		if (atoi(e->d_name) && !proc_ended(atoi(e->d_name))) {
			g->eye = atoi(e->d_name);
			break;
		}
	}
	if (d)
		closedir(d);
	return g->eye;
}
