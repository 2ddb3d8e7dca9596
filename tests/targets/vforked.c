/* SPDX-License-Identifier: MIT */
/*
 * Two threads create children by vfork() `rounds` times each, every other one of which has a child of its own; whoever
 * runs tells check() who it is. Children of posix_spawn() are told on standard output.
 */
#define _GNU_SOURCE
#include <pthread.h>
#include <spawn.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

extern char **environ;
static int rounds;

__attribute__((noinline)) void check(long pid, long tid)
{
	__asm__ volatile("" ::"r"(pid), "r"(tid) : "memory");
}

static void tell(void)
{
	check(syscall(SYS_getpid), syscall(SYS_gettid));
}

static void wait_for(pid_t pid)
{
	if (waitpid(pid, NULL, 0) != pid)
		_exit(3);
}

static void have_child(int of_its_own)
{
	volatile int again = of_its_own;
	pid_t pid = vfork();

	if (!pid) {
		tell();
		if (again) {
			pid = vfork();
			if (!pid) {
				tell();
				_exit(0);
			}
			tell();
			wait_for(pid);
		}
		_exit(0);
	}
	tell();
	wait_for(pid);
}

static void *work(void *arg)
{
	int i;

	for (i = 0; i < rounds; i++) {
		tell();
		have_child(i & 1);
	}
	return arg;
}

int main(int argc, char **argv)
{
	char *words[] = {"true", NULL};
	pthread_t thread;
	pid_t pid;

	rounds = argc > 1 ? atoi(argv[1]) : 10;
	if (pthread_create(&thread, NULL, work, NULL))
		return 1;
	work(NULL);
	pthread_join(thread, NULL);
	if (posix_spawn(&pid, "/bin/true", NULL, NULL, words, environ))
		return 2;
	printf("spawned %d\n", pid);
	wait_for(pid);
	return 7;
}
