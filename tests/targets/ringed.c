/* SPDX-License-Identifier: MIT */
/*
 * Has threads that the kernel has made for its io_uring ("polled": also the one that looks for what comes in). For each
 * line of input it calls work() a hundred times, each between two turns of the ring, and says what they gave. Ends with 7.
 */
#include <stdio.h>
#include <string.h>

#include "ringed.h"

enum { CALLS = 100 };

__attribute__((noinline)) long work(long x)
{
	__asm__ volatile("" : "+r"(x));
	return 3 * x + 1;
}

int main(int argc, char **argv)
{
	struct ring r;
	long sum = 0;

	if (ring_make(&r, argc > 1 && !strcmp(argv[1], "polled")) || ring_turn(&r)) {
		puts("no io_uring");
		return 1;
	}
	puts("ready");
	fflush(stdout);
	while (getchar() == '\n') {
		for (int i = 0; i < CALLS; i++) {
			sum += work(i);
			if (ring_turn(&r))
				return 2;
		}
		printf("sum %ld\n", sum);
		fflush(stdout);
	}
	return 7;
}
