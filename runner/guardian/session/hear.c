/* SPDX-License-Identifier: MIT */
/* Waiting for an event of the target, or a word of a runner. */
#define _GNU_SOURCE
#include <poll.h>
#include <signal.h>
#include <sys/signalfd.h>
#include <unistd.h>

#include "../../base/progress.h"
#include "../guardian.h"
#include "../leave/part.h"
#include "../mend/handlerend.h"
#include "../trace/loop.h"
#include "arm.h"
#include "events.h"
#include "hear.h"
#include "join.h"
#include "samples.h"

enum { HEAR_MS = 4, UNTOLD_MS = 100 };

static int sooner(int a, int b)
{
	return a < 0 || (b >= 0 && b < a) ? b : a;
}

static int rest_ms(const struct guardian *g)
{
	int ms = sooner(clients_part_ms(g), handler_runs_ms(g));

	if (target_ended(g) || g->own_traps) /* by what we did last: no event may come */
		return 0;
	if (g->arming)
		ms = sooner(ms, PROGRESS_MS);
	if (g->nuntold) /* for a runner that may not answer */
		return sooner(ms, UNTOLD_MS);
	return ms < 0 && follow_may_be_due(g) ? FOLLOW_MS : ms;
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

/* Until an event comes, or a word of a runner's. */
static void rest(struct guardian *g, int ms)
{
	struct pollfd p[2 + TL_CTL_SESSIONS] = {
		{.fd = g->sigchld, .events = POLLIN}, {.fd = door_now(g), .events = POLLIN}};
	struct signalfd_siginfo info;
	const struct client *c;
	nfds_t n = 2;

	for (c = g->clients; c; c = c->next)
		p[n++] = (struct pollfd){.fd = c->leave ? -1 : c->tell.sock,
			.events = tell_rest(&c->tell) ? POLLIN : POLLIN | POLLOUT};
	poll(p, n, ms);
	if (p[0].revents)
		while (read(g->sigchld, &info, sizeof(info)) == sizeof(info))
			;
	g->knocked |= p[1].revents != 0;
	clients_hear(g);
}

bool guardian_event(struct guardian *g)
{
	static double heard; /* by time: to clean one child can take as long as a thousand hits */
	bool event = loop_event(g, false);
	double now = now_ms();

	handler_runs_check(g);
	if (!event || now - heard > HEAR_MS || g->nuntold) {
		rest(g, event ? 0 : rest_ms(g));
		heard = now;
	}
	return event;
}

void guardian_await(struct guardian *g, int ms)
{
	if (!loop_event(g, false))
		rest(g, ms);
}

/* The runner may lose patience with a long arming. */
void arming_waits(struct guardian *g)
{
	struct client *c = g->arming;

	if (c->leave)
		loop_event(g, true);
	else
		guardian_event(g);
	c->ctl->cut_short = c->leave;
	progress_tell(g);
}
