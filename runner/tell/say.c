/* SPDX-License-Identifier: MIT */
#define _GNU_SOURCE
#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/socket.h>

#include "../base/slots.h"
#include "tell.h"

int teller_init(struct teller *t, const struct tl_tap *mod, const struct board *b,
	struct standing *standing, int sock)
{
	*t = (struct teller){.sock = sock,
		.mod = mod,
		.nslots = mod->nprobes,
		.images = b->images,
		.states = b->states,
		.tuning = b->tuning,
		.standing = standing,
		.told = calloc(probe_slots(mod) + 1, 1),
		.backlog = backlog_make()};
	return t->told && t->backlog ? 0 : -1;
}

void teller_free(struct teller *t)
{
	backlog_free(t->backlog);
	free(t->told);
}

void tell(const struct teller *t, uint32_t kind, uint32_t number, const char *text)
{
	struct message m = {.kind = kind, .number = number};

	snprintf(m.text, sizeof(m.text), "%s", text);
	tell_send(t, &m);
}

void tell_note(const struct teller *t, const char *fmt, ...)
{
	char text[512];
	va_list ap;

	va_start(ap, fmt);
	vsnprintf(text, sizeof(text), fmt, ap);
	va_end(ap);
	tell(t, MSG_NOTE, 0, text);
}

enum heard tell_listen(const struct teller *t, uint32_t *number)
{
	struct message m;
	ssize_t n;

	tell_rest(t);
	n = recv(t->sock, &m, sizeof(m), MSG_DONTWAIT);
	if (n == 0)
		return HEARD_ITS_END;
	if (n < 0)
		return errno == EAGAIN || errno == EINTR ? HEARD_NOTHING : HEARD_LEAVE;
	if (n != (ssize_t)sizeof(m))
		return HEARD_NOTHING;
	*number = m.number;
	switch (m.kind) {
	case MSG_LEAVE:
		return HEARD_LEAVE;
	case MSG_TUNE:
		return HEARD_TUNE;
	case MSG_GO_ON:
		return HEARD_GO_ON;
	case MSG_SAMPLE:
		return HEARD_SAMPLE;
	case MSG_CHILD:
		return HEARD_CHILD;
	}
	return HEARD_NOTHING;
}
