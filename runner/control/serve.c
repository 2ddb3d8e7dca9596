/* SPDX-License-Identifier: MIT */
/* A running session answers. One request at a time; others wait in the socket. */
#define _GNU_SOURCE
#include <errno.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <unistd.h>

#include "../../runtime/session.h"
#include "../base/clock.h"
#include "../base/passing.h"
#include "control.h"

static void tell_failed(const struct control *c, const char *why)
{
	if (c->opt->verbose)
		fprintf(stderr, "trapless-run: this session cannot be asked: %s\n", why);
}

void control_announce(struct control *c)
{
	char why[160];

	c->announced = !place_make(&c->place, why, sizeof(why));
	if (!c->announced)
		tell_failed(c, why);
}

void control_start(struct control *c)
{
	c->since = now_ms();
	if (!c->announced)
		return;
	c->fd = pass_listen(&c->place.socket);
	if (c->fd < 0)
		tell_failed(c, strerror(-c->fd));
}

void control_end(struct control *c)
{
	if (c->client >= 0)
		close(c->client);
	if (c->fd >= 0)
		close(c->fd);
	if (c->announced)
		place_drop(&c->place);
	c->fd = c->client = -1;
}

/* --- one request ------------------------------------------------------------------ */

static bool receive(struct control *c)
{
	struct passed from;

	if (pass_receive(c->fd, &c->request, sizeof(c->request), &from))
		return false;
	if (from.n != 1 || (from.uid && from.uid != geteuid())) {
		passed_close(&from);
		return false;
	}
	c->client = from.fds[0];
	c->request.pattern[sizeof(c->request.pattern) - 1] = 0;
	return true;
}

static void reply(struct control *c, bool failed, void (*list)(const struct control *, FILE *))
{
	struct reply r = {failed};
	int fd = memfd_create("trapless", MFD_CLOEXEC);
	FILE *f = fd >= 0 ? fdopen(dup(fd), "w") : NULL;

	if (f) {
		fputs(c->changed, f);
		if (list)
			list(c, f);
		fclose(f);
		pass(c->client, NULL, &r, sizeof(r), &fd, 1);
	}
	if (fd >= 0)
		close(fd);
	close(c->client);
	c->client = -1;
}

static bool can_be_switched(const struct tl_tap_probe *p)
{
	return p->kind >= TL_TAP_TIMER && /* which comes behind begin, end and error */
	       !probe_is_ours(p);
}

struct switched control_switch(struct control *c, const char *pattern, bool off)
{
	const struct tl_tap *mod = c->session->mod;
	struct switched n = {0};

	for (uint32_t i = 0; i < mod->nprobes; i++) {
		if (!probe_is_chosen(mod, i, pattern))
			continue;
		if (can_be_switched(&mod->probes[i])) {
			probe_switch(c->session, i, OFF_BY_USER, off);
			n.switched++;
		} else {
			n.fixed++;
		}
	}
	timers_tune(c->session);
	return n;
}

static bool switch_probes(struct control *c, bool off)
{
	const struct switched done = control_switch(c, c->request.pattern, off);
	const uint32_t n = done.switched;

	if (n)
		snprintf(c->changed, sizeof(c->changed), "session %d: %u probe%s %s\n", getpid(), n,
			n == 1 ? "" : "s", off ? "disabled" : "enabled");
	else
		snprintf(c->changed, sizeof(c->changed),
			"session %d: %s '%s': --sessions shows %s\n", getpid(),
			done.fixed ? "begin and end probes cannot be switched:" : "no probe is",
			c->request.pattern, "all probes and their numbers");
	return n;
}

static bool set_optimizer(struct control *c)
{
	c->session->board.tuning->unoptimized = !c->request.on;
	if (c->opt->traps_only && c->request.on)
		snprintf(c->changed, sizeof(c->changed),
			"session %d: it was started with --traps-only: its probes stay on "
			"breakpoints\n",
			getpid());
	else
		snprintf(c->changed, sizeof(c->changed), "session %d: optimization is %s\n",
			getpid(), c->request.on ? "on" : "off");
	return !(c->opt->traps_only && c->request.on);
}

/* Whoever started this session sees that somebody has changed it. */
static void tell_change(const struct control *c)
{
	if (c->request.kind != REQUEST_LIST && !c->opt->no_warnings)
		fprintf(stderr, "trapless-run: changed by another command: %s", c->changed);
}

static bool carry_out(struct control *c)
{
	c->changed[0] = 0;
	switch (c->request.kind) {
	case REQUEST_LIST:
		return true;
	case REQUEST_ENABLE:
	case REQUEST_DISABLE:
		return switch_probes(c, c->request.kind == REQUEST_DISABLE);
	case REQUEST_OPTIMIZE:
		return set_optimizer(c);
	default:
		snprintf(c->changed, sizeof(c->changed),
			"session %d is of another release: it does not know this request\n",
			getpid());
		return false;
	}
}

static bool all_answered(const struct control *c)
{
	for (int i = 0; i < *c->ntargets; i++)
		if (c->targets[i].tuning && !c->targets[i].done)
			return false;
	return true;
}

static bool any_failed(const struct control *c)
{
	for (int i = 0; i < *c->ntargets; i++)
		if (c->targets[i].why_not[0])
			return true;
	return false;
}

void control_serve(struct control *c, bool asked)
{
	if (c->client < 0) {
		if (!asked || !receive(c))
			return;
		if (!carry_out(c)) {
			reply(c, true, NULL);
			return;
		}
		tell_change(c);
		for (int i = 0; i < *c->ntargets; i++)
			target_tune(&c->targets[i]);
	}
	if (all_answered(c))
		reply(c, any_failed(c),
			c->request.kind == REQUEST_LIST ? list_session : list_refused);
}
