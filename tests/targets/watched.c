/* SPDX-License-Identifier: MIT */
/*
 * Writes variables for process.data: says ready, then for each line of input THREADS new threads add 1 to `total`
 * 100 times each, every second one with all signals blocked; main writes `few` 10 times and reads it 5 times; a child
 * writes `total`; a call of the kernel's writes `few` once more. Says `did TOTAL`. At the end of input: status 7, if
 * nothing of it was disturbed.
 */
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

enum { TIMES = 100 };

long total;
static volatile int few;
static __thread volatile int own;
char line[40];
static int bad; /* the first line where something was wrong */
static volatile int traps;

static void on_trap(int sig)
{
	(void)sig;
	traps++;
}

#define expect(right) ((void)((right) || bad || (bad = __LINE__)))

static void *worker(void *arg)
{
	sigset_t set;
	int i, blocked = arg != NULL;

	sigfillset(&set);
	if (blocked)
		pthread_sigmask(SIG_BLOCK, &set, NULL);
	for (i = 0; i < TIMES; i++)
		own = (int)__atomic_fetch_add(&total, 1, __ATOMIC_SEQ_CST);
	pthread_sigmask(SIG_BLOCK, NULL, &set);
	expect(sigismember(&set, SIGTRAP) == blocked);
	return NULL;
}

long stored;

/* The store is its first instruction. */
__attribute__((noinline)) void store(long n)
{
	static volatile int last;

	__asm__ volatile("mov %1, %0" : "=m"(stored) : "r"(n));
	last = (int)n;
}

/* The program's own SIGTRAP, which waits while the variable is written. */
static void expect_own(void)
{
	sigset_t all, before;
	int was = traps;

	sigfillset(&all);
	pthread_sigmask(SIG_BLOCK, &all, &before);
	raise(SIGTRAP);
	stored = 6;
	expect(traps == was);
	pthread_sigmask(SIG_SETMASK, &before, NULL);
	expect(traps == was + 1);
}

static void round_of(int threads)
{
	pthread_t t[64];
	int i, sum = 0, status = 0, pair[2], sent = 3;
	struct sigaction now;
	pid_t child;

	for (i = 0; i < threads; i++)
		expect(!pthread_create(&t[i], NULL, worker, i % 2 ? line : NULL));
	for (i = 0; i < threads; i++)
		pthread_join(t[i], NULL);
	for (i = 0; i < 10; i++)
		few = i;
	for (i = 0; i < 5; i++)
		sum += few;
	expect(sum == 45);
	for (i = 1; i <= 5; i++)
		store(i);
	child = fork();
	if (!child) {
		total = 1;
		_exit(3);
	}
	expect(waitpid(child, &status, 0) == child && WIFEXITED(status) &&
		WEXITSTATUS(status) == 3);
	expect(!pipe(pair) && write(pair[1], &sent, sizeof(sent)) == sizeof(sent));
	expect(read(pair[0], (int *)&few, sizeof(few)) == sizeof(few));
	close(pair[0]);
	close(pair[1]);
	sigaction(SIGTRAP, NULL, &now);
	expect(now.sa_handler == on_trap);
	expect_own();
}

int main(int argc, char **argv)
{
	const struct sigaction act = {.sa_handler = on_trap};
	int threads = argc > 1 ? atoi(argv[1]) : 4;

	sigaction(SIGTRAP, &act, NULL);
	puts("ready");
	fflush(stdout);
	while (fgets(line, sizeof(line), stdin)) {
		round_of(threads);
		printf("did %ld\n", total);
		fflush(stdout);
	}
	if (bad)
		printf("bad: line %d\n", bad);
	return bad ? 1 : 7;
}
