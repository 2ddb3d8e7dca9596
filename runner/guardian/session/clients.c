/* SPDX-License-Identifier: MIT */
/* The sessions that we serve, and what all of them are told. */
#define _GNU_SOURCE
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "../../base/slots.h"
#include "../guardian.h"
#include "../trace/say.h"
#include "clients.h"

static bool is_taken(const struct guardian *g, uint32_t slot)
{
	const struct client *c;

	for (c = g->clients; c && c->slot != slot; c = c->next)
		;
	return c;
}

int client_add(struct guardian *g, struct client *c)
{
	struct client **link = &g->clients;

	for (c->slot = 0; is_taken(g, c->slot); c->slot++)
		;
	if (c->slot == TL_CTL_SESSIONS)
		return -1;
	while (*link)
		link = &(*link)->next;
	*link = c;
	return 0;
}

static bool begins(const char *text, const char *with)
{
	return !strncmp(text, with, strlen(with));
}

static bool imports(const struct tl_tap *m, const char *with)
{
	uint32_t i;

	for (i = 0; i < m->nimports && !begins(tl_tap_string(m, m->imports[i].name), with); i++)
		;
	return i < m->nimports;
}

/* Handlers that follow the program's pointers, to read or to write, or ask us. */
static bool handlers_may_fault(const struct tl_tap *m)
{
	return imports(m, "tl_load") || imports(m, "tl_store") || imports(m, "tl_user_") ||
	       imports(m, "tl_execname");
}

static bool watchpoints_wanted(const struct tl_tap *m)
{
	uint32_t i;

	for (i = 0; i < m->nprobes && m->probes[i].kind != TL_TAP_WATCH; i++)
		;
	return i < m->nprobes;
}

int client_create(struct guardian *g, struct client *c)
{
	c->ctl_size = pages(tl_ctl_session_size(probe_slots(c->mod), part_slots(c->mod)));
	c->ctl = memory_make(c->ctl_size, &c->ctl_fd);
	if (!c->ctl)
		return guardian_fail(g, "cannot make the control block: %s", strerror(errno));
	c->ctl->slot = c->slot;
	c->ctl->nprobes = probe_slots(c->mod);
	c->ctl->nparts = part_slots(c->mod);
	c->ctl->memory_size = c->memory_size;
	c->tell.ctl = g->ctl;
	g->may_fault |= handlers_may_fault(c->mod);
	g->data_watched |= watchpoints_wanted(c->mod);
	c->tell.probes = c->ctl;
	return 0;
}

void client_free(struct client *c)
{
	free(c->events);
	free(c->slots);
	if (c->ctl)
		munmap(c->ctl, c->ctl_size);
	if (c->session)
		munmap(c->session, c->memory_size);
	if (c->mod)
		board_close(&c->board, c->mod);
	if (c->tell.standing)
		standing_close(c->tell.standing, c->mod);
	close(c->ctl_fd);
	close(c->memory_fd);
	close(c->tell.sock);
	teller_free(&c->tell);
	module_unload(&c->own_mod);
	free(c);
}

void client_drop(struct guardian *g, struct client *c)
{
	struct client **link = &g->clients;

	while (*link != c)
		link = &(*link)->next;
	*link = c->next;
	client_free(c);
}

unsigned clients_count(const struct guardian *g)
{
	const struct client *c;
	unsigned n = 0;

	for (c = g->clients; c; c = c->next)
		n++;
	return n;
}

bool clients_leave(const struct guardian *g)
{
	const struct client *c;

	for (c = g->clients; c && c->leave; c = c->next)
		;
	return !c;
}

bool clients_wait(const struct guardian *g)
{
	const struct client *c;

	for (c = g->clients; c && !c->pending; c = c->next)
		;
	return c;
}

bool clients_deaf(const struct guardian *g)
{
	const struct client *c;

	for (c = g->clients; c && !c->deaf; c = c->next)
		;
	return c;
}

bool client_watches_loader(const struct client *c)
{
	return c->pending || c->closable;
}

bool clients_watch_loader(const struct guardian *g)
{
	const struct client *c;

	for (c = g->clients; c && !client_watches_loader(c); c = c->next)
		;
	return c;
}
