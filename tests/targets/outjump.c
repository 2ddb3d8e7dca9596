/* SPDX-License-Identifier: MIT */
/*
 * outjump ROUNDS [jailed|later|often] [alternate]: work() is to be probed by a
 * handler that does not end before *flag is set. Signals set it, and leave by
 * siglongjmp. Then plain() is called 100 times. `jailed` forbids itself most
 * system calls, sigaltstack() among them, at the price of its life; `later`:
 * not before it is told to go. `alternate`: signals come on a stack of their
 * own, above the probed calls, and call nested() there. `often`: instead, signals
 * come as fast as they can, and leave plain(). Status 7.
 */
#define _GNU_SOURCE
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <setjmp.h>
#include <signal.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/time.h>
#include <unistd.h>

enum { CALLS = 100 };

static sigjmp_buf out;
static volatile sig_atomic_t flag, inside;
static volatile long sum;
static int alternate;

__attribute__((noinline)) long work(volatile sig_atomic_t *until)
{
	__asm__ volatile("" ::: "memory");
	return *until;
}

__attribute__((noinline)) long plain(long a)
{
	__asm__ volatile("" ::: "memory");
	return a + 1;
}

__attribute__((noinline)) long nested(long a)
{
	__asm__ volatile("" ::: "memory");
	return a + 2;
}

static void on_alarm(int sig)
{
	(void)sig;
	if (!inside)
		return;
	if (alternate)
		sum += nested(1);
	flag = 1;
	inside = 0; /* the next one may be waiting already */
	siglongjmp(out, 1);
}

#define ALLOW(nr)                                                                                  \
	BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, (nr), 0, 1),                                           \
		BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW)

static int confine(void)
{
	struct sock_filter code[] = {
		BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr)),
		ALLOW(SYS_read),
		ALLOW(SYS_write),
		ALLOW(SYS_exit_group),
		ALLOW(SYS_rt_sigprocmask),
		ALLOW(SYS_rt_sigreturn),
		BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_KILL_PROCESS),
	};
	struct sock_fprog filter = {sizeof(code) / sizeof(*code), code};

	return prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) ||
	       prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &filter);
}

/* How often it was left. */
static int leave_plain(int rounds)
{
	const struct itimerval often = {{0, 300}, {0, 300}};
	volatile int left = 0;

	setitimer(ITIMER_REAL, &often, NULL);
	while (left < rounds) {
		if (!sigsetjmp(out, 1)) {
			inside = 1;
			for (;;)
				sum += plain(sum);
		}
		left++;
	}
	return left;
}

int main(int argc, char **argv)
{
	const struct itimerval often = {{0, 5000}, {0, 5000}};
	volatile int rounds = atoi(argv[1]), left = 0, round;
	int i;
	const char *jail = argc > 2 ? argv[2] : "";
	char byte, above[1 << 16];
	const stack_t there = {.ss_sp = above, .ss_size = sizeof(above)};
	struct sigaction a = {.sa_handler = on_alarm, .sa_flags = SA_ONSTACK};

	alternate = argc > 3;
	if (alternate)
		sigaltstack(&there, NULL);
	sigaction(SIGALRM, &a, NULL);
	setvbuf(stdout, NULL, _IONBF, 0);
	setitimer(ITIMER_REAL, &often, NULL);
	if (!strcmp(jail, "jailed") && confine())
		return 77;
	printf("ready\n");
	while (read(0, &byte, 1) != 1)
		;
	if (!strcmp(jail, "later") && confine())
		return 77;
	if (!strcmp(jail, "often"))
		left = leave_plain(rounds), rounds = 0;
	for (round = 0; round < rounds; round++) {
		flag = 0;
		if (!sigsetjmp(out, 1)) {
			inside = 1;
			work(&flag);
		} else {
			left++;
		}
		inside = 0;
		for (i = 0; i < CALLS; i++)
			sum += plain(i);
	}
	printf("left %d\n", left);
	return 7;
}
