/* SPDX-License-Identifier: MIT */
/*
 * Blocks of threads that have ended, for those to come, and the locks that
 * they were killed with. Only where many have come since, or a lock was waited for
 * in vain: a thread that has the number and the place in memory of one that
 * ended would go on with its block.
 *
 * Threads tell the numbers that their own pid namespace gives them.
 */
#define _GNU_SOURCE
#include <dirent.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/proc.h"
#include "kernel/kernel.h"
#include "session.h"

enum { SOME = 512 }; /* blocks */

/* A process by its own numbers. */
struct living {
	uint32_t pid;
	uint32_t *tids;
	size_t n, max;
};

static bool add(struct living *l, uint32_t tid)
{
	if (l->n == l->max) {
		size_t more = l->max ? 2 * l->max : 64;
		void *p = realloc(l->tids, more * sizeof(*l->tids));

		if (!p)
			return false;
		l->tids = p;
		l->max = more;
	}
	l->tids[l->n++] = tid;
	return true;
}

static int by_number(const void *a, const void *b)
{
	uint32_t x = *(const uint32_t *)a, y = *(const uint32_t *)b;

	return (x > y) - (x < y);
}

/* Who lives in process pid now, perhaps nobody. false: not to be told. */
static bool look(pid_t pid, struct living *l)
{
	char path[64];
	struct dirent *e;
	bool nested, ok = true;
	DIR *d;

	memset(l, 0, sizeof(*l));
	l->pid = proc_own_number(pid);
	nested = l->pid != (uint32_t)pid;
	snprintf(path, sizeof(path), "/proc/%d/task", pid);
	d = opendir(path);
	if (!d)
		return errno == ENOENT;
	while (ok && (e = readdir(d))) {
		uint32_t tid = (uint32_t)strtoul(e->d_name, NULL, 10);

		/* it is there until its parent has asked */
		if ((pid_t)tid == pid && proc_ended(pid))
			continue;
		if (tid && nested)
			tid = proc_own_number((pid_t)tid);
		if (tid)
			ok = add(l, tid);
	}
	closedir(d);
	if (l->n)
		qsort(l->tids, l->n, sizeof(*l->tids), by_number);
	return ok && (l->pid || !l->n);
}

static bool lives(const struct living *l, uint32_t tid)
{
	return l->n && bsearch(&tid, l->tids, l->n, sizeof(tid), by_number);
}

/* Targets of several namespaces may have one number: a thread is gone when none of them has it. All that run handlers are targets. */
static bool is_gone(const struct living *all, int n, uint32_t pid, uint32_t tid)
{
	int i;

	for (i = 0; i < n; i++) {
		if (all[i].pid == pid && lives(&all[i], tid))
			return false;
	}
	return true;
}

/* tids[]: of the blocks that were in use before we looked who lives. */
static void sweep(
	struct session *s, const uint32_t *tids, uint32_t used, const struct living *all, int n)
{
	uint32_t i;

	for (i = 1; i < used; i++) {
		struct tl_block *b = tl_block_at(&s->view, i);

		if (b == s->view.own)
			continue;
		if (b->state == TL_BLOCK_USED && tids[i] && b->tid == tids[i] &&
			is_gone(all, n, b->pid, tids[i])) {
			tl_block_dead(&s->view, i);
			s->any_dead = true;
		}
	}
}

/* Whose records are read. */
static void free_dead(struct session *s, uint32_t used)
{
	uint32_t i;

	s->any_dead = false;
	for (i = 1; i < used; i++) {
		if (tl_block_at(&s->view, i)->state != TL_BLOCK_DEAD)
			continue;
		if (tl_reader_forget(&s->reader, i))
			tl_block_recycle(&s->view, i);
		else
			s->any_dead = true;
	}
}

void session_recycle(struct session *s, const pid_t *pids, int n)
{
	uint32_t i, used = tl_blocks_used(&s->view), *tids;
	struct living *all;
	int known = 0, k;

	if (is_for_kernel(s->mod)) /* it knows its tasks itself */
		return;
	if (s->any_dead)
		free_dead(s, used);
	if (used < s->swept + SOME && used < s->view.nblocks && !tl_locks_stuck(&s->view))
		return;
	s->swept = used;
	tids = calloc(used, sizeof(*tids));
	all = calloc((size_t)n + 1, sizeof(*all));
	for (i = 1; tids && i < used; i++) {
		const struct tl_block *b = tl_block_at(&s->view, i);

		tids[i] = b->state == TL_BLOCK_USED ? b->tid : 0;
	}
	while (all && known < n && look(pids[known], &all[known]))
		known++;
	if (tids && all && known == n)
		sweep(s, tids, used, all, known);
	for (k = 0; all && k < n; k++)
		free(all[k].tids);
	free(all);
	free(tids);
}
