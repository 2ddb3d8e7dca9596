/* SPDX-License-Identifier: MIT */
/*
 * What a dead session left behind. Its guardian was killed, so nobody cleaned
 * up; but its control block still lies in the target, and tells everything.
 */
#define _GNU_SOURCE
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "guardian.h"

enum { PATIENCE_MS = 1000, HEIRS_PATIENCE_MS = 10000 };

/* Address of a control block in the target, 0: none. */
static uint64_t find_block(struct guardian *g)
{
	char path[64], line[1024];
	uint64_t found = 0, lo;
	uint32_t magic;
	FILE *f;

	snprintf(path, sizeof(path), "/proc/%d/maps", eye_of(g));
	f = fopen(path, "re");
	while (f && !found && fgets(line, sizeof(line), f)) {
		if (!strstr(line, "/memfd:trapless") || sscanf(line, "%lx-", &lo) != 1)
			continue;
		if (target_read(g, g->pid, lo, &magic, sizeof(magic)) == sizeof(magic) &&
			magic == TL_CTL_MAGIC)
			found = lo;
	}
	if (f)
		fclose(f);
	return found;
}

/* Its own copy is all that is looked at; what the target wrote there is not trusted further. */
static struct tl_ctl *read_block(struct guardian *g, uint64_t at)
{
	struct tl_ctl *c = malloc(sizeof(*c));

	if (c && (target_read(g, g->pid, at, c, sizeof(*c)) != sizeof(*c) ||
			 c->version != TL_CTL_VERSION || c->self != at ||
			 c->nareas > TL_CTL_AREAS || c->size < sizeof(*c))) {
		free(c);
		return NULL;
	}
	return c;
}

/* Threads that are still on their way through get time to leave. */
static int give_back(struct guardian *g)
{
	double end = now_ms() + (g->heir ? HEIRS_PATIENCE_MS : PATIENCE_MS);
	int kept;

	for (;;) {
		maps_read(g);
		quiet_forget(g);
		kept = eject(g);
		if (!kept || g->gone || now_ms() > end)
			return kept;
		while (pump(g, false))
			;
		usleep(5000);
	}
}

static int clean_up(struct guardian *g)
{
	int kept;

	maps_read(g);
	if (stop_all(g))
		return -1;
	kept = journal_restore(g, g->pid, g->mem);
	resume_all(g, false);
	if (kept || !helper_start(g, NULL))
		return -1;
	kept = give_back(g);
	helper_end(g);
	return kept;
}

/* After seizing, before anything else. 0: nothing of an earlier session is left, or only unused memory. */
int recover(struct guardian *g)
{
	struct tl_ctl *mine = g->ctl, *old;
	size_t size = g->ctl_size;
	uint64_t at = find_block(g);
	uint32_t dead;
	int kept;

	if (!at)
		return 0;
	old = read_block(g, at);
	if (!old)
		return guardian_fail(g,
			"process %d holds a session of another trapless release, whose guardian is "
			"gone: clean up with that release",
			g->pid);
	dead = old->guardian;
	g->ctl = old;
	g->ctl_size = old->size;
	kept = clean_up(g);
	g->ctl = mine;
	g->ctl_size = size;
	g->injected = false;
	free(old);
	if (kept < 0)
		return guardian_fail(g,
			"process %d holds the remains of a session whose guardian (pid %u) was "
			"killed, and they could not be cleaned up: try again",
			g->pid, dead);
	tell_note(&g->tell, "cleaned up after a session whose guardian (pid %u) was killed%s", dead,
		kept ? "; some of its memory is still in use and stays" : "");
	return 0;
}
