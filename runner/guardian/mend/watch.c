/* SPDX-License-Identifier: MIT */
/* Where the program's C library changes what we have to keep, a breakpoint tells us. */
#define _GNU_SOURCE
#include <stdlib.h>
#include <string.h>

#include "../../machine/calls.h"
#include "../guardian.h"
#include "../family/sanitizers.h"
#include "../inject/helper.h"
#include "../leave/journal.h"
#include "../trace/images.h"
#include "../trace/maps.h"
#include "../trace/remote.h"
#include "../trace/say.h"
#include "../trace/seccomp.h"
#include "../trace/threads.h"
#include "masks.h"
#include "trapmend.h"
#include "watch.h"

static bool begins(const char *text, const char *with)
{
	return !strncmp(text, with, strlen(with));
}

/* The image that holds the C library: by name, or the program itself where there is no loader. */
static const struct tl_ctl_image *c_library(const struct guardian *g)
{
	const struct tl_ctl_image *i,
		*only = NULL, *end = g->ctl->images + ctl_bounded(&g->ctl->nimages, TL_CTL_IMAGES);
	bool loader = false;

	for (i = g->ctl->images; i < end; i++) {
		if (begins(i->name, "libc.so") || begins(i->name, "libc-2.") ||
			begins(i->name, "libc.musl") || begins(i->name, "ld-musl"))
			return i;
		loader |= begins(i->name, "ld-linux") || begins(i->name, "ld-2.");
		if (!only)
			only = i;
	}
	return loader ? NULL : only;
}

/* Where the C library changes dispositions, and what is blocked, into the control block. How many places. */
static int find_calls(struct guardian *g)
{
	static const long calls[] = {SYS_rt_sigaction, SYS_rt_sigprocmask};
	const struct tl_ctl_image *libc = c_library(g);
	size_t size = libc ? libc->hi - libc->lo : 0, i;
	uint8_t *code = size ? malloc(size) : NULL;
	const uint8_t *p, *end;
	int n = 0;

	if (!code)
		return 0;
	size = target_read(g, g->pid, libc->lo, code, size);
	end = code + size;
	journal_undo(g, libc->lo, code, size);
	for (i = 0; i < (g->masks_matter ? 2 : 1); i++) {
		p = code;
		while (n < WATCHED_CLONE && (p = code_find_call(p, end, calls[i])))
			g->ctl->watched_at[n++] = libc->lo + (uint64_t)(p - code);
	}
	free(code);
	return n;
}

/* Breakpoints for the guardian's sake. */
static uint32_t watches(const struct guardian *g)
{
	uint32_t n = g->ctl->dl_state != 0;
	int i;

	for (i = 0; i < TL_CTL_WATCHED; i++)
		n += g->ctl->watched_at[i] != 0;
	return n;
}

/* Those of the user's probes: they stand, or come for a moment whenever a jump is written. */
static bool by_traps(const struct guardian *g)
{
	return g->ctl->standing > watches(g);
}

static bool ever_trapped(const struct guardian *g)
{
	return g->ctl->ntraps > watches(g) || g->data_watched;
}

/* ... as long as the session lasts. */
static bool forces_traps(const struct guardian *g)
{
	return by_traps(g) || g->data_watched;
}

/* Do we cause signals, and nobody tells of changes yet? */
static bool unwatched(const struct guardian *g)
{
	return ((g->faulted || ever_trapped(g)) && !g->action_watched) ||
	       (forces_traps(g) && !g->masks_matter);
}

static bool has_begun(const struct guardian *g)
{
	return !g->launched || g->started;
}

bool action_wanted(const struct guardian *g)
{
	return !has_begun(g) && unwatched(g);
}

/* After arming, with the helper held. */
int action_watch(struct guardian *g)
{
	int ret = 0;

	if (!unwatched(g))
		return 0;
	g->masks_matter |= forces_traps(g);
	if (find_calls(g))
		ret = helper_command(g, TL_CMD_WATCH);
	masks_learn(g); /* they may have changed while nobody told */
	action_learn(g);
	g->action_watched = g->ctl->watched_at[0] != 0;
	return ret < 0 ? ret : 0;
}

/* Until the next jump is written there is nothing to mend, but where breakpoints stand or a filter would bar us later. */
bool watch_can_wait(const struct guardian *g)
{
	return has_begun(g) && !g->faulted && !forces_traps(g) && !is_filtered(g->pid);
}

static bool watch_is_due(const struct guardian *g)
{
	return g->armed && !g->action_watched && !g->watch_tried &&
	       (g->faulted || (has_begun(g) && (g->may_fault || ever_trapped(g))));
}

/* Behind the arming, which is not to wait for it; or the first fault of a handler: others may follow. A program that has jailed itself gets no thread of ours for that. */
void session_watch(struct guardian *g)
{
	double at = now_ms();

	if (!watch_is_due(g))
		return;
	g->watch_tried = g->faulted = true;
	if (!is_filtered(eye_of(g)) && helper_start(g, NULL)) {
		if (!maps_read(g) && !images_read(g)) /* the C library may have come since */
			action_watch(g);
		helper_end(g);
	}
	g->error[0] = 0; /* it serves without, too */
	guardian_phase(g, "watch", at);
}
