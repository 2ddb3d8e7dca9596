/* SPDX-License-Identifier: MIT */
/*
 * Text that the program has moved elsewhere (mremap), our patches with it. To the agent it is gone; should it come
 * back when we are gone, its jumps would lead nowhere. So it gets its own bytes where it lies now: before the agent
 * looks for what has gone, and where the text is restored. It is known by its file: what was copied is not found.
 */
#define _GNU_SOURCE
#include <stdio.h>

#include "../guardian.h"
#include "../trace/images.h"
#include "../trace/maps.h"
#include "../trace/stop.h"
#include "../trace/threads.h"
#include "journal.h"
#include "moved.h"

static bool is_of(const struct mapped *m, const struct mapping *l)
{
	return m->whole && m->inode == l->inode && m->dev == l->dev;
}

/* Not where any image of that file has its text. */
static bool is_away(const struct mapping *l)
{
	const struct mapped *m;
	bool any = false;
	size_t n;

	if (!l->inode || l->shared)
		return false;
	for (m = images_found(&n); n; n--, m++) {
		if (is_of(m, l) && l->lo - l->offset == m->text_shift)
			return false;
		any |= is_of(m, l);
	}
	return any;
}

/* What of the image's text lies in the mapping. */
static int restore_in(
	struct guardian *g, const struct mapped *m, const struct mapping *l, int mem, bool *any)
{
	uint64_t shift = l->lo - l->offset - m->text_shift;
	uint64_t lo = l->lo - shift, hi = l->hi - shift;

	lo = lo > m->text_lo ? lo : m->text_lo;
	hi = hi < m->text_hi ? hi : m->text_hi;
	return lo < hi ? journal_restore_moved(g, mem, lo, hi, shift, any) : 0;
}

static int restore(struct guardian *g, const struct mapping *l, int mem, bool *any)
{
	const struct mapped *m;
	size_t n;
	int ret = 0;

	for (m = images_found(&n); n; n--, m++)
		if (is_of(m, l))
			ret |= restore_in(g, m, l, mem, any);
	return ret;
}

/* In a process that stands still, the target or a copy of it. The list of mappings may be in use. 0, or -1: some may stand. */
int moved_restore(struct guardian *g, pid_t pid, int mem)
{
	char path[64], line[1024];
	bool any = false;
	struct mapping l;
	int ret = 0;
	FILE *f;

	snprintf(path, sizeof(path), "/proc/%d/maps", pid == g->pid ? eye_of(g) : pid);
	f = fopen(path, "re");
	while (f && fgets(line, sizeof(line), f))
		if (mapping_parse(line, &l) && is_away(&l))
			ret |= restore(g, &l, mem, &any);
	if (f)
		fclose(f);
	return f ? ret : -1;
}

static bool any_away(struct guardian *g)
{
	const struct mapping *l;
	bool any = false;
	size_t n;

	for (l = mappings(&n); n && !any; n--, l++)
		if (is_away(l))
			restore(g, l, -1, &any);
	return any;
}

/* By the last look at the mappings. Nobody may be on the way through it meanwhile. */
void moved_mend(struct guardian *g)
{
	if (!g->armed || !any_away(g) || stop_all(g))
		return;
	moved_restore(g, g->pid, g->mem);
	resume_all(g, false);
}
