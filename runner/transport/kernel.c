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
	fprintf(stderr, "trapless-run: a script for the kernel starts no program yet: start it "
			"beside the session\n");
	return -1;
}

static int be_attendant(struct target *t, const struct options *o, int sock)
{
	return kernel_attend(t->session, o, sock, t->standing);
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
