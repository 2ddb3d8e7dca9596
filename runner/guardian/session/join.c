/* SPDX-License-Identifier: MIT */
/* Other sessions come to the target that we trace. */
#define _GNU_SOURCE
#include <stdio.h>
#include <stdlib.h>
#include <sys/socket.h>
#include <unistd.h>

#include "../../../runtime/session.h"
#include "../../base/passing.h"
#include "../../base/joining.h"
#include "../guardian.h"
#include "../family/launch.h"
#include "../leave/part.h"
#include "../trace/say.h"
#include "arm.h"
#include "clients.h"
#include "events.h"
#include "join.h"

/* From here on they find us; a program that we start has to be on its way. Where no socket can be had nobody joins. */
void door_open(struct guardian *g)
{
	if (g->door_tried || (g->launched && !g->armed) || launch_under_way(g))
		return;
	g->door_tried = true;
	if (place_of_guardian(&g->door_at, g->pid))
		return;
	unlink(g->door_at.sun_path); /* a killed guardian's: it is us who trace the target */
	g->door = pass_listen(&g->door_at);
}

/* Who has knocked and was not let in sees its socket's end, and tries to trace the target by itself. */
void door_close(struct guardian *g)
{
	bool heirs = g->heir && !place_of_guardian(&g->door_at, g->pid);

	if (g->door >= 0 || heirs)
		unlink(g->door_at.sun_path);
	if (g->door >= 0)
		close(g->door);
	g->door = -1;
}

/* No room for another one, but soon. */
static bool clients_in_the_way(const struct guardian *g)
{
	return clients_count(g) == TL_CTL_SESSIONS && clients_part_ms(g) >= 0;
}

int door_now(const struct guardian *g)
{
	return g->helper || clients_in_the_way(g) ? -1 : g->door;
}

static bool is_known(const struct guardian *g, const struct join_request *r)
{
	return r->magic == JOIN_MAGIC && r->version == TL_CTL_VERSION && r->target == g->pid &&
	       r->agent == agent_checksum();
}

static int open_module(struct guardian *g, struct client *c, int fd)
{
	char path[64];

	snprintf(path, sizeof(path), "/proc/self/fd/%d", dup(fd)); /* which it closes */
	if (module_load(&c->own_mod, path, g->error, sizeof(g->error)))
		return -1;
	c->mod = &c->own_mod;
	return 0;
}

static int damaged(struct guardian *g)
{
	return guardian_fail(
		g, "what this session sent to the guardian of process %d is damaged", g->pid);
}

/* The message's own descriptors are closed by who received it. */
static int open_files(
	struct guardian *g, struct client *c, const struct join_request *r, struct passed *f)
{
	struct standing *standing;

	c->memory_fd = dup(f->fds[JOIN_MEMORY]);
	c->memory_size = r->memory_size;
	c->session = memory_open(r->memory_size, c->memory_fd);
	if (!c->session || r->memory_size < sizeof(*c->session))
		return damaged(g);
	if (open_module(g, c, f->fds[JOIN_MODULE]) ||
		board_open(&c->board, c->mod, dup(f->fds[JOIN_BOARD])) ||
		!(standing = standing_open(c->mod, f->fds[JOIN_STANDING])) ||
		teller_init(&c->tell, c->mod, &c->board, standing, dup(f->fds[JOIN_TELL])))
		return damaged(g);
	c->tell.verbose = (int)r->verbose;
	c->tell.explain = (int)r->explain;
	c->traps_only = r->traps_only;
	c->follow = r->follow;
	c->before = (struct message){.children = g->children,
		.unclean = g->children_unclean,
		.traps = g->traps,
		.silences = g->silences};
	return 0;
}

static void refuse(struct guardian *g, int sock)
{
	const struct teller t = {.sock = sock};

	tell(&t, MSG_FAILED, 0, g->error);
	tell_last(&t, 1, "");
}

/* 0: it is on the list, armed, or told why not and leaving. */
static int let_in(struct guardian *g, const struct join_request *r, struct passed *f)
{
	struct client *c = calloc(1, sizeof(*c));

	if (!c)
		return guardian_fail(g, "out of memory");
	c->ctl_fd = c->memory_fd = c->board.fd = c->tell.sock = -1;
	if (!is_known(g, r))
		guardian_fail(g,
			"process %d is traced by a session of another trapless release "
			"(guardian: pid %d): end that first",
			g->pid, getpid());
	else if (!open_files(g, c, r, f) && client_add(g, c))
		guardian_fail(g,
			"process %d is traced by %d sessions already, and more cannot "
			"be: end one of them first",
			g->pid, TL_CTL_SESSIONS);
	if (g->error[0]) {
		client_free(c);
		return -1;
	}
	if (!client_create(g, c) && !session_arm(g, c, g->parked, true) && !events_begin(g, c)) {
		tell(&c->tell, MSG_READY, c->narmed, "");
		return 0;
	}
	tell(&c->tell, MSG_FAILED, 0, guardian_why(g));
	c->leave = true;
	return 0;
}

void door_answer(struct guardian *g)
{
	struct join_request r;
	struct passed f;

	if (!g->knocked || door_now(g) < 0)
		return;
	g->knocked = false;
	g->error[0] = 0;
	if (pass_receive(g->door, &r, sizeof(r), &f))
		return;
	if (f.uid == geteuid() && r.declines && is_known(g, &r))
		g->declined++;
	else if (f.uid == geteuid() && f.n == JOIN_FILES && let_in(g, &r, &f))
		refuse(g, f.fds[JOIN_TELL]);
	passed_close(&f);
	if (!g->crashed)
		g->error[0] = 0; /* the others go on */
}
