/* SPDX-License-Identifier: MIT */
/*
 * A program that notices what is done to it. One thread calls turn() for ever,
 * one takes short naps for ever, and main calls work() as often as each
 * line of input says. All look at what comes back, at their signal masks and
 * at how their sleeps end. At the end of input it says what was wrong; status 7.
 */
#include <errno.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>
#include <unistd.h>

static volatile int over;
static unsigned long bad;

static void expect(int right)
{
	if (!right)
		__atomic_fetch_add(&bad, 1, __ATOMIC_RELAXED);
}

__attribute__((noinline)) long work(long a, long b)
{
	__asm__ volatile("" ::: "memory");
	return a * 3 + b;
}

__attribute__((noinline)) long turn(long a, long b)
{
	__asm__ volatile("" ::: "memory");
	return a * 5 - b;
}

static void expect_mask(void)
{
	sigset_t now;
	int sig;

	pthread_sigmask(SIG_BLOCK, NULL, &now);
	for (sig = 1; sig < 32; sig++)
		expect(sigismember(&now, sig) == (sig == SIGUSR2));
}

static void *turner(void *arg)
{
	long n;

	for (n = 0; !over; n++) {
		expect(turn(n, 7) == n * 5 - 7);
		if (n % 65536 == 0)
			expect_mask();
	}
	return arg;
}

static void *napper(void *arg)
{
	const struct timespec nap = {0, 3000000};

	while (!over) {
		expect(!nanosleep(&nap, NULL));
		expect_mask();
	}
	return arg;
}

int main(void)
{
	pthread_t t[2];
	char line[32];
	sigset_t s;
	long n, i;

	sigemptyset(&s);
	sigaddset(&s, SIGUSR2);
	sigprocmask(SIG_BLOCK, &s, NULL);
	pthread_create(&t[0], NULL, turner, NULL);
	pthread_create(&t[1], NULL, napper, NULL);
	printf("ready %d\n", getpid());
	fflush(stdout);
	while (fgets(line, sizeof(line), stdin)) {
		n = atol(line);
		for (i = 0; i < n; i++)
			expect(work(i, 1) == i * 3 + 1);
		printf("did %ld\n", n);
		fflush(stdout);
	}
	expect(errno != EINTR);
	over = 1;
	for (i = 0; i < 2; i++)
		pthread_join(t[i], NULL);
	printf("bad %lu\n", bad);
	return 7;
}
