/* SPDX-License-Identifier: MIT */
#define _GNU_SOURCE
#include "inherited.h"

#include <signal.h>
#include <stdint.h>
#include <sys/syscall.h>
#include <unistd.h>

enum { SIGNALS = 64 };

/* As rt_sigaction(2) takes it: C libraries hide two or three signals, which posix_spawn may have left ignored. */
struct action {
	void (*handler)(int);
	unsigned long flags;
	void (*restorer)(void);
	uint64_t mask;
};

static uint64_t blocked;
static bool ignored[SIGNALS + 1];

void inherited_note(void)
{
	struct action a;
	int sig;

	syscall(SYS_rt_sigprocmask, SIG_BLOCK, NULL, &blocked, sizeof(blocked));
	for (sig = 1; sig <= SIGNALS; sig++)
		ignored[sig] = !syscall(SYS_rt_sigaction, sig, NULL, &a, sizeof(a.mask)) &&
			       a.handler == SIG_IGN;
}

bool inherited_ignores(int sig)
{
	return ignored[sig];
}

void inherited_restore(void)
{
	struct action a = {.handler = SIG_DFL};
	int sig;

	for (sig = 1; sig <= SIGNALS; sig++) {
		a.handler = ignored[sig] ? SIG_IGN : SIG_DFL;
		syscall(SYS_rt_sigaction, sig, &a, NULL, sizeof(a.mask));
	}
	syscall(SYS_rt_sigprocmask, SIG_SETMASK, &blocked, NULL, sizeof(blocked));
}
