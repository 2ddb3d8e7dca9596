/* SPDX-License-Identifier: MIT */
/* The sessions that we serve, and what all of them are told. */
#define _GNU_SOURCE
#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <unistd.h>

#include "../../base/slots.h"
#include "../guardian.h"
#include "../leave/part.h"
#include "../mend/trapmend.h"
#include "clients.h"
#include "events.h"
#include "samples.h"
#include "watchpoints.h"

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

void clients_hear(struct guardian *g)
{
	struct client *c;

	for (c = g->clients; c; c = c->next) {
		enum heard word = HEARD_NOTHING;
		uint32_t number;

		do {
			word = c->told ? HEARD_NOTHING : tell_listen(&c->tell, &number);
			if (word == HEARD_GO_ON)
				event_answered(g, c, (pid_t)number);
			else if (word == HEARD_SAMPLE)
				sample_ask(g, c, number);
			else if (word == HEARD_CHILD)
				c->child_ms = 0;
		} while (word == HEARD_GO_ON || word == HEARD_SAMPLE || word == HEARD_CHILD);
		c->orphaned |= word == HEARD_ITS_END;
		c->tune |= word == HEARD_TUNE;
		c->leave |= word == HEARD_LEAVE || word == HEARD_ITS_END;
	}
}

unsigned clients_count(const struct guardian *g)
{
	const struct client *c;
	unsigned n = 0;

	for (c = g->clients; c; c = c->next)
		n++;
	return n;
}

/* No room for another one, but soon. */
bool clients_in_the_way(const struct guardian *g)
{
	return clients_count(g) == TL_CTL_SESSIONS && clients_part_ms(g) >= 0;
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

bool clients_verbose(const struct guardian *g)
{
	const struct client *c;

	for (c = g->clients; c && !c->tell.verbose; c = c->next)
		;
	return c;
}

void tell_all(const struct guardian *g, uint32_t kind, uint32_t number, const char *text)
{
	const struct client *c;

	for (c = g->clients; c; c = c->next)
		if (!c->told)
			tell(&c->tell, kind, number, text);
}

void note_all(const struct guardian *g, const char *fmt, ...)
{
	struct message m = {.kind = MSG_NOTE};
	const struct client *c;
	va_list ap;

	va_start(ap, fmt);
	vsnprintf(m.text, sizeof(m.text), fmt, ap);
	va_end(ap);
	for (c = g->clients; c; c = c->next) /* a runner that is stopped may miss some */
		send(c->tell.sock, &m, sizeof(m), MSG_NOSIGNAL | MSG_DONTWAIT);
}
