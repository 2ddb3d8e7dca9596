/* SPDX-License-Identifier: MIT */
/*
 * Who has started one of the programs is found by the file that /proc says it
 * runs: young processes, which may yet exec, are looked at often, all of them
 * each second. The kernel's connector, where it tells us, only says at whom to
 * look at once.
 */
#define _GNU_SOURCE
#include "later.h"

#include <dirent.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/clock.h"
#include "connector.h"
#include "followed.h"
#include "base/proc.h"
#include "target.h"

enum { LOOK_MS = 100, LOOK_AT_ALL_MS = 1000, YOUNG_LOOKS = 30, START_FIELD = 22 };

enum state { OTHER, FOUND, TAKEN };

struct seen {
	pid_t pid;
	enum state state;
	unsigned looks, stamp, program;
	uint64_t dev, ino, start;
	bool again; /* it has been tried */
	bool free; /* no guardian of ours had it when we looked */
};

static struct program {
	const char *path;
	uint64_t dev, ino;
	bool told; /* what is to be said of its probes has been said */
	bool waited;
} * programs;
static unsigned nprograms;

static struct seen *seen;
static size_t nseen, room;
static unsigned stamp;
static double looked, looked_at_all;
static int connector = -1;
static struct later_counts counts;

struct later_counts *later_counts(void)
{
	return &counts;
}

int later_fd(void)
{
	return connector;
}

/* An upgrade gives them other files. */
static void find_programs(void)
{
	struct stat st;
	unsigned i;

	for (i = 0; i < nprograms; i++) {
		if (!stat(programs[i].path, &st)) {
			programs[i].dev = st.st_dev;
			programs[i].ino = st.st_ino;
		}
	}
}

static uint64_t start_of(pid_t pid)
{
	const char *at = NULL;
	char text[1024];

	if (proc_read_of(pid, "stat", text, sizeof(text)) > 0)
		at = proc_stat_field(text, START_FIELD);
	return at ? strtoull(at, NULL, 10) : 0;
}

/* Ordered by pid. NULL: there is no memory. */
static struct seen *seen_of(pid_t pid)
{
	size_t lo = 0, hi = nseen;

	while (lo < hi) {
		size_t mid = (lo + hi) / 2;

		if (seen[mid].pid < pid)
			lo = mid + 1;
		else
			hi = mid;
	}
	if (lo < nseen && seen[lo].pid == pid)
		return &seen[lo];
	if (nseen == room) {
		size_t more = room ? 2 * room : 512;
		void *list = realloc(seen, more * sizeof(*seen));

		if (!list)
			return NULL;
		seen = list;
		room = more;
	}
	memmove(&seen[lo + 1], &seen[lo], (nseen++ - lo) * sizeof(*seen));
	seen[lo] = (struct seen){.pid = pid};
	return &seen[lo];
}

/* The one that runs this file; nprograms: none does. */
static unsigned program_with(uint64_t dev, uint64_t ino)
{
	unsigned i;

	for (i = 0; i < nprograms && (programs[i].ino != ino || programs[i].dev != dev); i++)
		;
	return i;
}

/* Whose number was another process's before, or who has become another program, is new. */
static void look_at(struct seen *e)
{
	struct stat st = {0};
	char path[64];
	unsigned program;
	uint64_t start;

	e->looks++;
	snprintf(path, sizeof(path), "/proc/%d/exe", e->pid);
	if (stat(path, &st)) { /* it has ended, is the kernel's own, or another user's */
		e->state = OTHER;
		return;
	}
	program = program_with(st.st_dev, st.st_ino);
	start = program < nprograms ? start_of(e->pid) : 0;
	if (program == nprograms)
		e->state = OTHER;
	else if (e->state == OTHER || e->ino != st.st_ino || e->dev != st.st_dev ||
		 e->start != start)
		e->state = FOUND;
	e->program = program;
	e->dev = st.st_dev;
	e->ino = st.st_ino;
	e->start = start;
}

static void forget_ended(void)
{
	size_t i, n = 0;

	for (i = 0; i < nseen; i++) {
		if (seen[i].stamp == stamp)
			seen[n++] = seen[i];
	}
	nseen = n;
}

static void look_around(bool at_all)
{
	DIR *d = opendir("/proc");
	struct dirent *e;

	if (!d)
		return;
	stamp++;
	while ((e = readdir(d))) {
		pid_t pid = atoi(e->d_name);
		struct seen *s = pid > 0 ? seen_of(pid) : NULL;

		if (!s)
			continue;
		s->stamp = stamp;
		if (at_all || s->looks < YOUNG_LOOKS)
			look_at(s);
	}
	closedir(d);
	forget_ended();
}

static void take_news(pid_t pid)
{
	struct seen *e = seen_of(pid);

	if (!e)
		return;
	e->again = false;
	e->state = OTHER; /* also who becomes the same program anew */
	e->stamp = stamp;
	look_at(e);
}

static void look_where_due(void)
{
	double now = now_ms();
	bool lost = connector >= 0 && !connector_read(connector, take_news);
	bool all = lost || now - looked_at_all >= LOOK_AT_ALL_MS;

	if (!all && (connector >= 0 || now - looked < LOOK_MS))
		return;
	if (all) {
		find_programs();
		looked_at_all = now;
	}
	looked = now;
	look_around(all);
}

static bool is_target(const struct target *targets, int n, pid_t pid)
{
	int i;

	for (i = 0; i < n && (targets[i].done || targets[i].pid != pid); i++)
		;
	return i < n;
}

static bool is_guardian(const struct target *targets, int n, pid_t pid)
{
	int i;

	for (i = 0; i < n && (targets[i].retired || targets[i].guardian != pid); i++)
		;
	return i < n;
}

void later_look(const struct target *targets, int n)
{
	uint64_t tracer;
	size_t i;

	look_where_due();
	for (i = 0; i < nseen; i++) {
		tracer = 0;
		if (seen[i].state == FOUND) /* since long, perhaps, and ended with its guardian */
			look_at(&seen[i]);
		if (seen[i].state != FOUND)
			continue;
		proc_status(seen[i].pid, "TracerPid", 10, &tracer);
		seen[i].free = !tracer || !is_guardian(targets, n, (pid_t)tracer);
	}
}

static void tell_full(const struct options *o)
{
	static bool told;

	if (!told && !o->no_warnings)
		fprintf(stderr,
			"WARNING: %d processes are traced, no more can be at a time; others wait\n",
			TARGETS_MAX);
	told = true;
}

void later_take(struct target *targets, int *ntargets, struct session *s, const struct options *o)
{
	size_t i;

	for (i = 0; i < nseen; i++) {
		struct seen *e = &seen[i];
		struct program *p = &programs[e->program];
		struct target *t;

		if (e->state != FOUND || !e->free)
			continue;
		e->state = TAKEN;
		if (e->pid == getpid() || is_target(targets, *ntargets, e->pid) ||
			is_guardian(targets, *ntargets, e->pid))
			continue;
		t = followed_place(targets, ntargets);
		if (!t) {
			e->state = FOUND;
			tell_full(o);
			continue;
		}
		if (target_find(t, e->pid, p->path, p->told, s, o))
			t->done = t->retired = true;
		p->told = true;
	}
}

bool later_again(pid_t pid)
{
	struct seen *e = seen_of(pid);
	bool again = e && !e->again;

	if (again) {
		e->again = true;
		e->state = OTHER;
	}
	return again;
}

bool later_refused(void)
{
	return !counts.refused++;
}

void later_ready(const struct target *t)
{
	unsigned i;

	for (i = 0; i < nprograms; i++) {
		if (strcmp(programs[i].path, t->found) || !programs[i].waited)
			continue;
		programs[i].waited = false;
		fprintf(stderr, "tracing process %d of %s\n", t->pid, t->found);
	}
}

static void know_those_there(const struct target *targets, int n)
{
	size_t i;

	look_around(true);
	for (i = 0; i < nseen; i++) {
		if (seen[i].state != FOUND || !is_target(targets, n, seen[i].pid))
			continue;
		programs[seen[i].program].waited = false;
		programs[seen[i].program].told = true;
	}
}

void later_start(const struct session *s, const struct target *targets, int n, bool verbose)
{
	const struct tl_tap *m = s->mod;
	uint32_t i;

	programs = calloc(m->nimages + 1, sizeof(*programs));
	for (i = 0; i < m->nimages && programs; i++) {
		if (m->images[i].flags & TL_TAP_IMAGE_PROGRAM)
			programs[nprograms++] = (struct program){
				.path = tl_tap_string(m, m->images[i].path), .waited = true};
	}
	find_programs();
	connector = connector_open();
	if (verbose)
		fprintf(stderr, "trapless-run: processes that start %s\n",
			connector < 0 ? "are sought (ten times a second)"
				      : "are told of by the kernel");
	know_those_there(targets, n);
}
