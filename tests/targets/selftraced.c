/* SPDX-License-Identifier: MIT */
/*
 * Has its threads traced, ten times, by a process that shares its memory: that one attaches to all of them, reads their
 * registers, and lets go of them. Calls work() a hundred times before each and after the last. Says how many of the
 * rounds went well. Ends with 7.
 */
#define _GNU_SOURCE
#include <dirent.h>
#include <pthread.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/ptrace.h>
#include <sys/syscall.h>
#include <sys/user.h>
#include <sys/wait.h>
#include <unistd.h>

enum { ROUNDS = 10, CALLS = 100, STACK = 1 << 18, THREADS = 3 };

static volatile pid_t tids[THREADS + 1];

__attribute__((noinline)) long work(long x)
{
	__asm__ volatile("" : "+r"(x));
	return 3 * x + 1;
}

static long calls(void)
{
	long sum = 0;

	for (long i = 0; i < CALLS; i++)
		sum += work(i);
	return sum;
}

static void *lives(void *arg)
{
	volatile long *spins = arg;

	tids[spins ? 2 : 1] = (pid_t)syscall(SYS_gettid);
	while (spins)
		++*spins;
	pause();
	return arg;
}

static int trace_one(pid_t tid)
{
	struct user_regs_struct regs;
	int status;

	return !ptrace(PTRACE_ATTACH, tid, NULL, NULL) && waitpid(tid, &status, __WALL) == tid &&
	       WIFSTOPPED(status) && !ptrace(PTRACE_GETREGS, tid, NULL, &regs);
}

static int trace_all(void *arg)
{
	int good = 1;

	(void)arg;
	for (int i = 0; i < THREADS; i++)
		good &= trace_one(tids[i]);
	for (int i = 0; i < THREADS; i++)
		good &= !ptrace(PTRACE_DETACH, tids[i], NULL, NULL);
	syscall(SYS_exit, !good);
	return 0;
}

int main(void)
{
	static volatile long spins;
	char *stack = mmap(NULL, STACK, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	pthread_t t[2];
	int good = 0, status;
	long sum = 0;
	pid_t child;

	tids[0] = getpid();
	pthread_create(&t[0], NULL, lives, NULL);
	pthread_create(&t[1], NULL, lives, (void *)&spins);
	while (!tids[1] || !tids[2])
		usleep(1000);
	for (int i = 0; i < ROUNDS; i++) {
		sum += calls();
		child = clone(trace_all, stack + STACK, CLONE_VM | CLONE_FS | CLONE_FILES, NULL);
		good += waitpid(child, &status, __WALL) == child && !status;
	}
	sum += calls();
	printf("good %d sum %ld\n", good, sum);
	return 7;
}
