/* SPDX-License-Identifier: MIT */
/* Nobody ptraces: the program loads the agent by itself, and an attendant looks at their shared memory. */
#include "../preload/preload.h"

#include <stdio.h>

#include "../target.h"
#include "socket.h"

static struct preload preload; /* of the one program that we start */

static int prepare(struct session *s, const struct options *o)
{
	return preload_prepare(&preload, s, o);
}

static int enter(void)
{
	return preload_enter(&preload);
}

static int be_attendant(struct target *t, const struct options *o, int sock)
{
	return preload_attend(&preload, t->session, o, sock, t->pid, t->standing);
}

static int attach(struct target *t, const struct options *o)
{
	return socket_attach(t, o, be_attendant);
}

static enum word hear(struct target *t, const struct options *o, struct message *m, bool block)
{
	enum word word = socket_hear(t, m, block);

	(void)o;
	if (word != WORD_END || t->done)
		return word;
	t->failed = true;
	fprintf(stderr,
		"trapless-run: the attendant of process %d was killed: the agent takes its "
		"probes away by itself\n",
		t->pid);
	return WORD_END;
}

const struct transport preload_transport = {
	.prepare = prepare,
	.enter = enter,
	.attach = attach,
	.hear = hear,
	.say = socket_say,
};
