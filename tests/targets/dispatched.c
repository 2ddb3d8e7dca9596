/* SPDX-License-Identifier: MIT */
/*
 * All its system calls but the C library's become SIGSYS (PR_SET_SYSCALL_USER_DISPATCH), and each of N rounds makes one
 * of either kind, with 0.1 ms of sleep: the handler gets the one that is none of Linux', and no other. With `inclusive`
 * those of one function become SIGSYS. Says `ready`, and waits for a line before; SIGTERM ends it early. Says `right N`;
 * status 7.
 */
#define _GNU_SOURCE
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <ucontext.h>
#include <unistd.h>

enum { DISPATCH = 59, ON = 1, INCLUSIVE = 2, ALLOWED = 0, TURNED = 1, STRANGE = 1000, ANSWER = 77 };

static volatile char selector;
static volatile long caught, wrong, over;
extern const char __start_stranger[], __stop_stranger[];

__attribute__((noinline)) long work(long a)
{
	__asm__ volatile("" ::: "memory");
	return a * 3 + 1;
}

/* Its own calls are the C library's, also the one by which it returns. */
static void on_call(int sig, siginfo_t *info, void *context)
{
	ucontext_t *u = context;

	wrong += sig != SIGSYS || info->si_syscall != STRANGE ||
		 (unsigned long)info->si_call_addr != (unsigned long)u->uc_mcontext.gregs[REG_RIP];
	caught++;
	u->uc_mcontext.gregs[REG_RAX] = ANSWER;
}

static void on_term(int sig)
{
	over = sig;
}

__attribute__((noinline, section("stranger"))) static long strange(void)
{
	long ret;

	__asm__ volatile("syscall" : "=a"(ret) : "a"(STRANGE) : "rcx", "r11", "memory");
	return ret;
}

static int turn_on_inclusive(void)
{
	return prctl(DISPATCH, INCLUSIVE, __start_stranger, __stop_stranger - __start_stranger,
		&selector);
}

static int turn_on(void)
{
	unsigned long lo = 0, hi = 0;
	char line[512];
	FILE *f = fopen("/proc/self/maps", "r");

	while (f && fgets(line, sizeof(line), f) &&
		!(strstr(line, "/libc.so") && strstr(line, "r-xp") &&
			sscanf(line, "%lx-%lx", &lo, &hi) == 2))
		;
	if (f)
		fclose(f);
	return prctl(DISPATCH, ON, lo, hi - lo, &selector);
}

int main(int argc, char **argv)
{
	const struct sigaction act = {.sa_sigaction = on_call, .sa_flags = SA_SIGINFO};
	long n = argc > 1 ? atol(argv[1]) : 100, i;
	pid_t parent = getppid();
	char line[8];

	sigaction(SIGSYS, &act, NULL);
	signal(SIGTERM, on_term);
	if (argc > 2 && !strcmp(argv[2], "inclusive") ? turn_on_inclusive() : turn_on()) {
		puts("cannot");
		return 1;
	}
	puts("ready");
	fflush(stdout);
	if (!fgets(line, sizeof(line), stdin))
		return 1;
	selector = TURNED;
	for (i = 0; i < n && !over; i++) {
		work(i);
		wrong += strange() != ANSWER;
		wrong += getppid() != parent;
		usleep(100);
	}
	selector = ALLOWED;
	if (caught == i && !wrong)
		printf("right %ld\n", over ? 0 : n);
	else
		printf("caught %ld of %ld, wrong %ld\n", caught, i, wrong);
	return caught == i && !wrong ? 7 : 2;
}
