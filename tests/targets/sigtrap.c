/* SPDX-License-Identifier: MIT */
/*
 * Calls work() with SIGTRAP blocked, over and over, each time with another
 * disposition of SIGTRAP that was set just before; mask and disposition must
 * be as set. With `alone`, SIGTRAP is the only signal that is blocked, from
 * the start; with `inside`, only while its handler runs, which calls work()
 * too. Prints how many rounds were right; status 7.
 */
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static volatile int hits;

long work(long a);
__attribute__((noinline)) long work(long a)
{
	__asm__ volatile("" ::: "memory");
	return a * 3 + 1;
}

static void one(int sig)
{
	hits += sig == SIGTRAP;
}

static void two(int sig, siginfo_t *info, void *context)
{
	(void)context;
	hits += 2 * (sig == SIGTRAP && info->si_signo == sig);
}

static int blocks(int sig)
{
	sigset_t now;

	return !pthread_sigmask(SIG_BLOCK, NULL, &now) && sigismember(&now, sig) == 1;
}

static void fail(const char *what, int round)
{
	printf("round %d: %s\n", round, what);
	exit(1);
}

static void set(int round, struct sigaction *a)
{
	memset(a, 0, sizeof(*a));
	if (round % 4 == 0)
		a->sa_handler = one;
	else if (round % 4 == 1)
		a->sa_sigaction = two;
	else
		a->sa_handler = round % 4 == 2 ? SIG_IGN : SIG_DFL;
	a->sa_flags = round % 4 == 1 ? SA_SIGINFO | SA_NODEFER : SA_RESTART;
	sigaddset(&a->sa_mask, SIGUSR1 + round % 2);
	sigaction(SIGTRAP, a, NULL);
}

static void blocked_round(int round)
{
	struct sigaction want, now;
	sigset_t all, before;

	sigfillset(&all);
	set(round, &want);
	pthread_sigmask(SIG_SETMASK, &all, &before);
	if (work(round) != 3L * round + 1)
		fail("work", round);
	if (!blocks(SIGTRAP) || !blocks(SIGUSR1))
		fail("the mask has changed", round);
	pthread_sigmask(SIG_SETMASK, &before, NULL);
	sigaction(SIGTRAP, NULL, &now);
	now.sa_flags &= ~0x04000000; /* the C library's restorer */
	if (now.sa_handler != want.sa_handler || now.sa_flags != want.sa_flags ||
		sigismember(&now.sa_mask, SIGUSR1) != !(round % 2))
		fail("the disposition has changed", round);
	hits = 0;
	if (round % 4 < 2)
		raise(SIGTRAP);
	if (round % 4 < 2 && hits != round % 4 + 1)
		fail("the handler did not run", round);
}

static void alone_round(int round)
{
	work(round);
	hits = round + 1;
	if (!blocks(SIGTRAP) || blocks(SIGUSR1))
		fail("the mask has changed", round);
}

static void inside(int sig)
{
	hits++;
	work(sig);
	if (!blocks(SIGTRAP))
		fail("the mask has changed in the handler", hits);
}

static void inside_round(int round)
{
	work(round);
	if (blocks(SIGTRAP))
		fail("the mask has changed", round);
	if (round % 2)
		raise(SIGTRAP);
	else
		__asm__ volatile("int3");
	if (hits != round + 1)
		fail("the handler did not run", round);
}

int main(int argc, char **argv)
{
	const char *mode = argc > 2 ? argv[2] : "";
	int rounds = argc > 1 ? atoi(argv[1]) : 100, alone = !strcmp(mode, "alone"), i;
	sigset_t s;

	sigemptyset(&s);
	sigaddset(&s, SIGTRAP);
	if (alone)
		pthread_sigmask(SIG_BLOCK, &s, NULL);
	if (!strcmp(mode, "inside"))
		signal(SIGTRAP, inside);
	printf("ready %d\n", getpid());
	fflush(stdout);
	if (getchar() == EOF)
		return 2;
	for (i = 0; i < rounds; i++) {
		if (alone)
			alone_round(i);
		else if (*mode)
			inside_round(i);
		else
			blocked_round(i);
	}
	printf("right %d\n", i);
	return 7;
}
