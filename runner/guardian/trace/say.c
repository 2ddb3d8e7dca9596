/* SPDX-License-Identifier: MIT */
/* What sessions are told of all this; and why something failed. */
#define _GNU_SOURCE
#include <stdarg.h>
#include <stdio.h>
#include <sys/socket.h>

#include "../../base/proc.h"
#include "../guardian.h"
#include "loop.h"
#include "say.h"

enum { ENDING_MS = 3000 };

int guardian_fail(struct guardian *g, const char *fmt, ...)
{
	va_list ap;

	va_start(ap, fmt);
	if (!g->error[0])
		vsnprintf(g->error, sizeof(g->error), fmt, ap);
	va_end(ap);
	return -1;
}

/* In a process that ends each step fails by a reason of its own. One thread's end may be that of all. */
const char *guardian_why(struct guardian *g)
{
	double end = now_ms() + ENDING_MS;
	unsigned living, ending;

	if (g->refused)
		return g->error;
	do {
		loop_for(g, 1);
		proc_threads(g->pid, &living, &ending);
	} while (living && (ending || g->exits) && now_ms() < end);
	if (!living)
		snprintf(g->error, sizeof(g->error),
			g->met ? "process %d ended while probes were placed in it"
			       : "process %d has already ended: nothing to trace",
			g->pid);
	return g->error;
}

void guardian_phase(struct guardian *g, const char *name, double since)
{
	if (clients_verbose(g))
		note_all(g, "%-10s %8.3f ms", name, now_ms() - since);
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
