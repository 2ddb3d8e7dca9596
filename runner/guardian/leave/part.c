/* SPDX-License-Identifier: MIT */
/* A session leaves while others stay: its probes, then its memory in the target, once nobody stands there. */
#define _GNU_SOURCE
#include <stdio.h>

#include "../guardian.h"
#include "../inject/helper.h"
#include "../inject/unmap.h"
#include "../session/clients.h"
#include "../session/watchpoints.h"
#include "../trace/births.h"
#include "../trace/maps.h"
#include "../trace/quiet.h"
#include "../trace/say.h"
#include "leave.h"
#include "part.h"

enum { PATIENCE_MS = 1000 };

/* The runner is not kept waiting for what threads of the program do. */
static void last_word(struct guardian *g, struct client *c)
{
	client_counts(g, c);
	tell_last(&c->tell, 1, "");
	c->told = true;
}

/* true: nothing of it is left. */
static bool give_back(struct guardian *g, struct client *c)
{
	bool busy;

	maps_read(g);
	quiet_forget(g);
	g->inside_only = now_ms() - c->parted_ms > PATIENCE_MS;
	busy = quiet_in(g, c->module_at, c->module_at + c->module_size, NULL);
	g->inside_only = false;
	if (busy)
		return false;
	births_settle(g);
	return !areas_unmap(g, c);
}

/* Some handler may still run. */
static bool all_out(const struct client *c)
{
	uint32_t i;

	for (i = 0; i < c->tell.nslots && !tl_ctl_probe(c->ctl, i)->armed; i++)
		;
	return i == c->tell.nslots;
}

/* true: it is no client any more. */
static bool part(struct guardian *g, struct client *c)
{
	double at = now_ms();
	bool done = false;

	client_silence(c);
	if (watchpoints_part(g))
		return false;
	if (helper_start(g, NULL))
		client_disarm(g, c);
	lender_release(g);
	if (g->helper && all_out(c) && !g->crashed && !target_ended(g)) {
		if (!c->told)
			last_word(g, c);
		done = !c->entered && give_back(g, c);
	}
	helper_end(g);
	guardian_phase(g, "part", at);
	return done;
}

static void lose_patience(struct guardian *g, struct client *c)
{
	char text[700];

	snprintf(text, sizeof(text),
		"the probes of this session stay in process %d, silent, until they can be taken "
		"out: %s",
		g->pid, g->error);
	tell(&c->tell, MSG_WARN, 0, text);
	last_word(g, c);
}

static int pause_of(const struct client *c)
{
	return c->told ? PARTED_MS : PART_MS;
}

int clients_part_ms(const struct guardian *g)
{
	const struct client *c;
	int ms = -1;

	for (c = g->clients; c; c = c->next)
		if (c->leave && (ms < 0 || pause_of(c) < ms))
			ms = pause_of(c);
	return ms;
}

static void try_part(struct guardian *g, struct client *c)
{
	if (!c->parted_ms)
		c->parted_ms = now_ms();
	g->parting = true;
	if (part(g, c)) {
		client_drop(g, c);
	} else {
		c->tried_ms = now_ms();
		if (!c->told && c->tried_ms - c->parted_ms > PATIENCE_MS && !g->crashed)
			lose_patience(g, c);
	}
	g->parting = false;
}

int clients_part(struct guardian *g)
{
	struct client *c, *next;

	for (c = g->clients; c && !g->crashed && !clients_leave(g) && !target_ended(g); c = next) {
		next = c->next;
		if (!c->leave || now_ms() - c->tried_ms < pause_of(c))
			continue;
		g->error[0] = 0; /* of the last try */
		try_part(g, c);
	}
	return g->crashed ? -1 : 0;
}
