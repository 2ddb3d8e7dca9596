/* SPDX-License-Identifier: MIT */
/* A signal that we send again, for somebody who has sent it: it looks as it did. */
#define _GNU_SOURCE
#include <signal.h>
#include <sys/ptrace.h>
#include <unistd.h>

#include "../../machine/calls.h"
#include "../guardian.h"
#include "../trace/concern.h"
#include "resent.h"

void signal_pass_on(const struct thread *from, struct thread *to, int sig)
{
	if (!to->owes)
		to->owes = !ptrace(PTRACE_GETSIGINFO, from->tid, 0, &to->owed);
	syscall(SYS_tgkill, to->tgid, to->tid, sig);
}

void signal_again(struct thread *t, int sig)
{
	signal_pass_on(t, t, sig);
}

/* About to be delivered. */
enum verdict resent_at_signal(struct guardian *g, struct thread *t, int sig)
{
	(void)g;
	if (t->owes && t->owed.si_signo == sig) {
		ptrace(PTRACE_SETSIGINFO, t->tid, 0, &t->owed);
		t->owes = false;
	}
	return PASS;
}
