/* SPDX-License-Identifier: MIT */
/* Changes its root to a folder that holds nothing, and works on until it is ended. */
#define _GNU_SOURCE
#include <stdio.h>
#include <unistd.h>

static volatile long sum;

__attribute__((noinline)) long work(long a, long b)
{
	__asm__ volatile("" ::: "memory");
	return a * 3 + b;
}

int main(int argc, char **argv)
{
	if (argc < 2 || chroot(argv[1]) || chdir("/"))
		return 1;
	puts("ready");
	fflush(stdout);
	for (;;) {
		sum += work(sum, 1);
		usleep(1000);
	}
}
