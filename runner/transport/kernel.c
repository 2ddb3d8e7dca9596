/* SPDX-License-Identifier: MIT */
/* The kernel that we run on, by its device: an attendant has it arm, which takes a while, and hears how that went. */
#include "../kernel/kernel.h"

#include <stdio.h>

#include "../target.h"
#include "socket.h"

static int prepare(struct session *s, const struct options *o)
{
	(void)s;
	(void)o;
	return 0;
}

static int be_attendant(struct target *t, const struct options *o, int sock)
{
	return kernel_attend(t->session, o, sock, t->standing, t->pid);
}

static int attach(struct target *t, const struct options *o)
{
	static bool attended;

	if (attended) {
		fprintf(stderr, "trapless-run: a script for the kernel has one -x: target() is one "
				"process\n");
		return -1;
	}
	attended = true;
	return socket_attach(t, o, be_attendant);
}

static enum word hear(struct target *t, const struct options *o, struct message *m, bool block)
{
	enum word word = socket_hear(t, m, block);

	(void)o;
	if (word != WORD_END || t->done)
		return word;
	t->failed = true;
	fprintf(stderr, "trapless-run: the kernel's attendant was killed: the kernel takes its "
			"probes away as the session ends\n");
	return WORD_END;
}

const struct transport kernel_transport = {
	.prepare = prepare,
	.attach = attach,
	.hear = hear,
	.say = socket_say,
};
