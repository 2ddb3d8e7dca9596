/* SPDX-License-Identifier: MIT */
/*
 * Creates threads and children in every way, `rounds` times, calling work() in
 * between. Children check their own work; anything odd ends with status 1.
 */
#define _GNU_SOURCE
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <spawn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

extern char **environ;
static unsigned long calls;
static volatile int traps;

__attribute__((noinline)) long work(long a)
{
	__asm__ volatile("" ::: "memory");
	return a * 3 + 1;
}

static long counted(long a)
{
	__atomic_fetch_add(&calls, 1, __ATOMIC_RELAXED);
	return work(a);
}

static void *thread(void *arg)
{
	int i;

	for (i = 0; i < 10; i++) {
		if (counted(i) != i * 3 + 1)
			exit(1);
	}
	return arg;
}

static int ended(pid_t pid, int want)
{
	int status;

	if (pid < 0 || waitpid(pid, &status, 0) != pid)
		return 0;
	return WIFEXITED(status) && WEXITSTATUS(status) == want;
}

static int child_main(void *arg)
{
	(void)arg;
	return work(4) == 13 ? 9 : 1;
}

static int one_fork(void)
{
	pid_t pid = fork();

	if (!pid) {
		char *p = malloc(1000);

		memset(p, 1, 1000);
		_exit(work(2) == 7 && p[999] == 1 ? 9 : 1);
	}
	return ended(pid, 9);
}

static int one_vfork(void)
{
	static char *const argv[] = {"/bin/true", NULL};
	pid_t pid = vfork();

	if (!pid) {
		execve(argv[0], argv, environ);
		_exit(1);
	}
	return ended(pid, 0);
}

static int one_spawn(void)
{
	static char *const argv[] = {"/bin/true", NULL};
	pid_t pid;

	return !posix_spawn(&pid, argv[0], NULL, NULL, argv, environ) && ended(pid, 0);
}

static int one_clone(int flags)
{
	static char stack[65536] __attribute__((aligned(16)));

	return ended(clone(child_main, stack + sizeof(stack), flags | SIGCHLD, NULL), 9);
}

static void on_trap(int sig)
{
	(void)sig;
	traps++;
}

int main(int argc, char **argv)
{
	int rounds = argc > 1 ? atoi(argv[1]) : 10, i, k;
	pthread_t t[4];

	if (argc > 2)
		sleep((unsigned)atoi(argv[2]));
	signal(SIGTRAP, on_trap);
	for (i = 0; i < rounds; i++) {
		for (k = 0; k < 4; k++)
			pthread_create(&t[k], NULL, thread, NULL);
		if (!one_fork() || !one_vfork() || !one_spawn() || !one_clone(0) || system("true"))
			return 1;
		for (k = 0; k < 4; k++)
			pthread_join(t[k], NULL);
		if (counted(5) != 16)
			return 1;
		raise(SIGTRAP);
		__asm__ volatile("int3");
		if (traps != 2 * (i + 1))
			return 4;
	}
	printf("calls %lu\n", calls);
	return 5;
}
