/* SPDX-License-Identifier: MIT */
/*
 * A thread named `worker` calls work() for ever. By `s` on standard input a
 * signal handler interrupts it outside of this program's text (in a probe's
 * handler, not on the way there) and reads from a pipe; by `r` that has
 * something to read. With an argument signal handlers have a stack of their own.
 */
#define _GNU_SOURCE
#include <pthread.h>
#include <signal.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <ucontext.h>
#include <unistd.h>

extern const char __executable_start[], etext[];

static int wake[2];
static volatile bool inside, stop;
static volatile unsigned handled;
static volatile uintptr_t entry_sp; /* of work() */

__attribute__((noinline)) long work(long a)
{
	entry_sp = (uintptr_t)__builtin_frame_address(0) + 16;
	return a * 3 + 1;
}

static bool in_handler(const greg_t *regs)
{
	const uintptr_t text = (uintptr_t)__executable_start, size = (uintptr_t)etext - text;

	return (uintptr_t)regs[REG_RIP] - text >= size && entry_sp - (uintptr_t)regs[REG_RSP] > 80;
}

static void on_signal(int sig, siginfo_t *info, void *context)
{
	const ucontext_t *uc = context;
	char c;

	(void)sig;
	(void)info;
	if (in_handler(uc->uc_mcontext.gregs)) {
		inside = true;
		inside = read(wake[0], &c, 1) != 1;
	}
	handled++;
}

static void *run(void *own_stack)
{
	static char stack[65536];
	const stack_t ss = {.ss_sp = stack, .ss_size = sizeof(stack)};
	long n = 0;

	if (own_stack && sigaltstack(&ss, NULL))
		return NULL;
	while (!stop)
		n += work(n);
	return &wake[n & 1];
}

static void interrupt(pthread_t t)
{
	unsigned before;

	while (!inside) {
		before = handled;
		pthread_kill(t, SIGUSR1);
		while (!inside && handled == before)
			usleep(100);
	}
}

static void release(void)
{
	if (write(wake[1], "r", 1) != 1)
		_exit(1);
	while (inside)
		usleep(100);
}

int main(int argc, char **argv)
{
	const struct sigaction sa = {.sa_sigaction = on_signal,
		.sa_flags = SA_SIGINFO | SA_RESTART | (argc > 1 ? SA_ONSTACK : 0)};
	pthread_t t;
	void *done;
	int c;

	if (pipe(wake) || sigaction(SIGUSR1, &sa, NULL) ||
		pthread_create(&t, NULL, run, argc > 1 ? argv : NULL))
		return 1;
	pthread_setname_np(t, "worker");
	printf("ready %d\n", getpid());
	fflush(stdout);
	while ((c = getchar()) != EOF) {
		if (c == 's')
			interrupt(t);
		else if (c == 'r')
			release();
		else
			continue;
		printf("done\n");
		fflush(stdout);
	}
	stop = true;
	pthread_join(t, &done);
	return done ? 7 : 1;
}
