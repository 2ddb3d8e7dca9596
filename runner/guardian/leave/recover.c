/* SPDX-License-Identifier: MIT */
/*
 * What a dead session left behind. Its guardian was killed, so nobody cleaned
 * up; but its control block still lies in the target, and tells everything.
 */
#define _GNU_SOURCE
#include <inttypes.h>
#include <dirent.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "../../../agent/preload/preload.h"
#include "../../machine/calls.h"
#include "../guardian.h"
#include "../inject/helper.h"
#include "../inject/inject.h"
#include "../inject/share.h"
#include "../session/watchpoints.h"
#include "../trace/images.h"
#include "../trace/loop.h"
#include "../trace/maps.h"
#include "../trace/quiet.h"
#include "../trace/remote.h"
#include "../trace/say.h"
#include "../trace/stop.h"
#include "../trace/threads.h"
#include "journal.h"
#include "listeners.h"
#include "recover.h"

#define SHARED "/memfd:trapless"

enum { PATIENCE_MS = 1000, HEIRS_PATIENCE_MS = 10000 };

/* Address of shared memory of ours in the target that begins with `begin`, 0: none. */
static uint64_t find_block(struct guardian *g, uint32_t begin)
{
	char path[64], line[1024];
	uint64_t found = 0, lo;
	uint32_t magic;
	FILE *f;

	snprintf(path, sizeof(path), "/proc/%d/maps", eye_of(g));
	f = fopen(path, "re");
	while (f && !found && fgets(line, sizeof(line), f)) {
		if (!strstr(line, SHARED) || sscanf(line, "%" SCNx64 "-", &lo) != 1)
			continue;
		if (target_read(g, g->pid, lo, &magic, sizeof(magic)) == sizeof(magic) &&
			magic == begin)
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
			 c->version != TL_CTL_VERSION || (c->self && c->self != at) ||
			 c->nareas > TL_CTL_AREAS || c->size < sizeof(*c))) {
		free(c);
		return NULL;
	}
	if (c)
		c->self = at; /* 0: just mapped, or about to be given back */
	return c;
}

/* Its helper may still be at work; it ends at its next question, which nobody hears. */
static bool helper_ended(struct guardian *g, const struct tl_ctl *c)
{
	double end = now_ms() + HEIRS_PATIENCE_MS; /* nothing can be done before that */
	pid_t tid = (pid_t)c->helper;

	while (tid && thread_find(g, tid) && !target_ended(g) && now_ms() < end)
		loop_for(g, 1);
	return !tid || !thread_find(g, tid);
}

/* As nobody changes it any more. */
static struct tl_ctl *settled_block(struct guardian *g, uint64_t at)
{
	struct tl_ctl *c = read_block(g, at);

	if (!c || !c->helper || !helper_ended(g, c))
		return c;
	free(c);
	return read_block(g, at);
}

static double patience_ms(const struct guardian *g)
{
	return g->heir ? HEIRS_PATIENCE_MS : PATIENCE_MS;
}

static void pause_briefly(struct guardian *g)
{
	while (loop_event(g, false))
		;
	usleep(5000);
}

/* Threads that are still on their way through get time to leave; then, as for who leaves, only who is inside counts. */
static int give_back(struct guardian *g)
{
	double soon = now_ms() + PATIENCE_MS, end = now_ms() + patience_ms(g);
	int kept;

	for (;;) {
		maps_read(g);
		quiet_forget(g);
		g->inside_only = now_ms() > soon;
		kept = agent_eject(g);
		if (!kept || g->gone || (g->inside_only && now_ms() > end))
			break;
		pause_briefly(g);
	}
	g->inside_only = false;
	return kept;
}

/* Nobody tells who its helper is, which does what it was told before it ends. */
static void await_helper(struct guardian *g)
{
	double end = now_ms() + patience_ms(g);

	do {
		quiet_forget(g);
		if (!quiet_in(g, g->ctl->agent, g->ctl->agent + g->ctl->agent_size, NULL))
			return;
		pause_briefly(g);
	} while (!g->gone && now_ms() < end);
}

/* Descriptors of the memory that it shared, from the moment when it handed it over, and those by which it did. */
static void close_shared(struct guardian *g)
{
	char path[64], name[64];
	struct dirent *e;
	ssize_t n;
	DIR *d;

	sockets_recover(g);
	snprintf(path, sizeof(path), "/proc/%d/fd", eye_of(g));
	d = opendir(path);
	while (d && (e = readdir(d))) {
		n = readlinkat(dirfd(d), e->d_name, name, sizeof(name) - 1);
		if (n > 0 && !strncmp(name, SHARED, sizeof(SHARED) - 1))
			remote_call(g, g->helper, SYS_close, strtoul(e->d_name, NULL, 10), 0, 0, 0,
				0, 0);
	}
	if (d)
		closedir(d);
}

/* Mapped, but not in its books, or not any more. */
static void unmap_shared(struct guardian *g)
{
	const struct mapping *m;
	size_t n, i;

	maps_read(g);
	m = mappings(&n);
	for (i = 0; i < n; i++) {
		if (!strncmp(m[i].path, SHARED, sizeof(SHARED) - 1))
			remote_call(
				g, g->helper, SYS_munmap, m[i].lo, m[i].hi - m[i].lo, 0, 0, 0, 0);
	}
}

/* Its code, where it is there already, looks after who makes calls. */
static void call_by_agent(struct guardian *g)
{
	const uint64_t lo = g->ctl->agent, size = g->ctl->agent_size;
	const struct mapping *m;
	size_t n, i;

	m = mappings(&n); /* read a moment ago */
	for (i = 0; i < n; i++) {
		if (lo && m[i].prot & PROT_EXEC && m[i].lo - lo < size)
			agent_calls(g, m[i].lo);
	}
}

static int clean_up(struct guardian *g)
{
	int kept;

	if (!helper_ended(g, g->ctl))
		return -1;
	images_find(g); /* and the mappings */
	if (stop_all(g))
		return -1;
	listeners_recover(g);
	watchpoints_recover(g);
	kept = journal_gone(g) ? 0 : journal_restore(g, g->pid, g->mem);
	resume_all(g, false);
	call_by_agent(g);
	if (kept || !helper_start(g, NULL))
		return -1;
	text_shut(g);
	close_shared(g);
	kept = give_back(g);
	if (!kept)
		unmap_shared(g);
	helper_end(g);
	return kept;
}

/* The region of an agent that no control block tells of any more, or not yet. */
static bool find_agent(struct guardian *g)
{
	const struct mapping *m;
	size_t n, i;

	m = mappings(&n); /* read a moment ago */
	g->ctl->agent = 0;
	for (i = 0; i < n && !g->ctl->agent; i++) {
		if (m[i].prot & PROT_EXEC && !*m[i].path)
			g->ctl->agent = agent_region(g, m[i].lo, &g->ctl->agent_size);
	}
	return g->ctl->agent != 0;
}

/* Nothing was armed by it, or nothing is any more. */
static int clean_agent(struct guardian *g)
{
	int kept = -1;

	if (!find_agent(g))
		return 0;
	await_helper(g);
	call_by_agent(g);
	if (helper_start(g, NULL)) {
		close_shared(g);
		kept = give_back(g);
		helper_end(g);
	}
	g->ctl->agent = 0;
	g->injected = false;
	return kept;
}

/* By its books. How much stays, or -1. */
static int clean_session(struct guardian *g)
{
	struct tl_ctl *mine = g->ctl, *old;
	size_t size = g->ctl_size;
	uint64_t at = find_block(g, TL_CTL_MAGIC);
	uint32_t dead;
	int kept;

	if (!at)
		return 0;
	old = settled_block(g, at);
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
	note_all(g, "cleaned up after a session whose guardian (pid %u) was killed%s", dead,
		kept ? "; some of its memory is still in use and stays" : "");
	maps_read(g);
	return kept;
}

/* After seizing, before anything else. 0: nothing of an earlier session is left, or only unused memory. */
int recover(struct guardian *g)
{
	int kept;

	if (find_block(g, TL_PRELOAD_MAGIC))
		return guardian_fail(g,
			"process %d carries the agent of a session with --preload, which others "
			"cannot join: end that first",
			g->pid);
	kept = clean_session(g);
	if (!kept)
		kept = clean_agent(g);
	return kept < 0 ? -1 : 0;
}
