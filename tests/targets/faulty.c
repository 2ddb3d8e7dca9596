/* SPDX-License-Identifier: MIT */
/*
 * Works on pointers to nowhere, which it does not follow itself, with SIGSEGV and SIGBUS handled, ignored or default,
 * blocked or not: mask and dispositions have to stay. Prints how many rounds were right. With `wait` each half of
 * them begins with a line of input; with `late`, too, and only then it sets its handlers.
 */
#define _GNU_SOURCE
#include <setjmp.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

static sigjmp_buf out;
static volatile sig_atomic_t faults;
static char *cut; /* a page behind the end of its file */

__attribute__((noinline)) long work(const char *nowhere, const char *behind_end)
{
	__asm__ volatile("" ::: "memory");
	return (long)nowhere + (long)behind_end;
}

static void on_fault(int sig)
{
	(void)sig;
	faults++;
	siglongjmp(out, 1);
}

static void set(int sig, void (*handler)(int))
{
	struct sigaction sa;

	memset(&sa, 0, sizeof(sa));
	sa.sa_handler = handler;
	sa.sa_flags = SA_NODEFER;
	sigaction(sig, &sa, NULL);
}

static int is(int sig, void (*handler)(int))
{
	struct sigaction sa;

	return !sigaction(sig, NULL, &sa) && sa.sa_handler == handler;
}

static int faults_itself(volatile const char *at)
{
	int before = faults;

	if (!sigsetjmp(out, 1))
		(void)*at;
	return faults == before + 1;
}

/* One call in this state; was all as before behind it? */
static int round_is_right(long i, void (*handler)(int), int how)
{
	const char *nowhere = (const char *)(0x7ffull << 40 | (unsigned long)i << 12);
	sigset_t block, old, now;

	sigemptyset(&block);
	if (how == 1)
		sigfillset(&block);
	if (how == 2) {
		sigaddset(&block, SIGSEGV);
		sigaddset(&block, SIGBUS);
	}
	sigprocmask(SIG_SETMASK, &block, &old);
	work(nowhere, cut);
	sigprocmask(SIG_SETMASK, &old, &now);
	return sigismember(&now, SIGSEGV) == (how != 0) &&
	       sigismember(&now, SIGBUS) == (how != 0) && is(SIGSEGV, handler) &&
	       is(SIGBUS, handler);
}

static void handle(void)
{
	set(SIGSEGV, on_fault);
	set(SIGBUS, on_fault);
}

static void wait_for_line(int wait)
{
	char line[16];

	if (wait && !fgets(line, sizeof(line), stdin))
		exit(3);
}

int main(int argc, char **argv)
{
	int i, n = atoi(argv[1]), right = 0, late;
	void (*const handlers[])(int) = {on_fault, SIG_DFL, SIG_IGN};
	FILE *f = tmpfile();

	cut = mmap(NULL, 4096, PROT_READ, MAP_SHARED, fileno(f), 0);
	late = argc > 2 && !strcmp(argv[2], "late");
	if (!late)
		handle();
	puts("ready");
	fflush(stdout);
	wait_for_line(argc > 2);
	if (late)
		handle();
	for (i = 0; i < n; i++) { /* dispositions as when we were come to, or set since */
		right += round_is_right(i, on_fault, (i & 1) ^ late);
		right += faults_itself(NULL) && faults_itself(cut);
	}
	puts("half");
	fflush(stdout);
	wait_for_line(argc > 2);
	for (i = 0; i < n; i++) { /* set anew; blocked only where that can be known */
		void (*h)(int) = handlers[i % 3];

		set(SIGSEGV, h);
		set(SIGBUS, h);
		right += round_is_right(i, h, 0);
	}
	printf("right %d\n", right);
	return 7;
}
