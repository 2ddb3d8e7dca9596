/* SPDX-License-Identifier: MIT */
/*
 * Makes system calls that it knows, in its threads: syscalls THREADS ROUNDS. With a word more it waits for a line
 * before, and for one after them.
 */
#define _GNU_SOURCE
#include <errno.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/syscall.h>
#include <unistd.h>

static long rounds;

/* With six arguments, none of which the kernel looks at. */
static long six(long nr)
{
	register long d __asm__("r10") = 14, e __asm__("r8") = 15, f __asm__("r9") = 16;
	long ret;

	__asm__ volatile("syscall"
			 : "=a"(ret)
			 : "0"(nr), "D"(11), "S"(12), "d"(13), "r"(d), "r"(e), "r"(f)
			 : "rcx", "r11", "memory");
	return ret;
}

static void *calls(void *arg)
{
	char c[77];

	for (long i = 0; i < rounds; i++) {
		long parent = getppid();

		sched_yield();
		if (six(SYS_getppid) != parent)
			abort();
		if (read(-1, c, sizeof(c)) != -1 || errno != EBADF)
			abort();
	}
	return arg;
}

int main(int argc, char **argv)
{
	int n = atoi(argv[1]);
	pthread_t t[64];

	rounds = atol(argv[2]);
	if (argc > 3) {
		puts("ready");
		fflush(stdout);
		getchar();
	}
	for (int i = 0; i < n; i++)
		if (pthread_create(&t[i], NULL, calls, NULL))
			abort();
	for (int i = 0; i < n; i++)
		pthread_join(t[i], NULL);
	if (argc > 3) {
		puts("done");
		fflush(stdout);
		getchar();
	}
	return 5;
}
