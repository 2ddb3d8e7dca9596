/* SPDX-License-Identifier: MIT */
/* A signal that we send again, for somebody who has sent it: it looks as it did. */
#ifndef TRAPLESS_RUNNER_GUARDIAN_MEND_RESENT_H
#define TRAPLESS_RUNNER_GUARDIAN_MEND_RESENT_H

#include "../guardian.h"

void signal_again(struct thread *t, int sig); /* sent again, it will look as it did */
void signal_pass_on(const struct thread *from, struct thread *to, int sig);
enum verdict resent_at_signal(struct guardian *g, struct thread *t, int sig);

#endif
