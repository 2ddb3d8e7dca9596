/* SPDX-License-Identifier: MIT */
/*
 * Writes over its own text as it was when it began: "write" puts the bytes back, "map" maps other memory there first,
 * "drop" has the kernel forget the changed page. A byte on standard input starts each of three rounds of calls; behind
 * the first one the text is written over. Functions on a page of their own, and one on another.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

enum { PAGE = 4096, CALLS = 1000 };

__attribute__((noinline, aligned(4096))) long over(long x)
{
	__asm__ volatile("" : "+r"(x));
	return 3 * x + 1;
}

__attribute__((noinline)) long over_too(long x)
{
	__asm__ volatile("" : "+r"(x));
	return 5 * x + 1;
}

__attribute__((noinline, aligned(4096))) long beside(long x)
{
	__asm__ volatile("" : "+r"(x));
	return 7 * x + 1;
}

static unsigned char was[PAGE];

static void write_over(const char *how)
{
	unsigned char *page = (unsigned char *)over;
	int all = PROT_READ | PROT_WRITE | PROT_EXEC;

	if (!strcmp(how, "drop")) {
		madvise(page, PAGE, MADV_DONTNEED);
		return;
	}
	if (!strcmp(how, "map"))
		mmap(page, PAGE, all, MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED, -1, 0);
	else
		mprotect(page, PAGE, all);
	memcpy(page, was, PAGE);
	mprotect(page, PAGE, PROT_READ | PROT_EXEC);
}

int main(int argc, char **argv)
{
	long sum = 0;
	char go;

	setvbuf(stdout, NULL, _IOLBF, 0);
	memcpy(was, (void *)over, PAGE);
	printf("ready\n");
	for (int round = 0; round < 3; round++) {
		if (read(0, &go, 1) != 1)
			return 1;
		for (int i = 0; i < CALLS; i++)
			sum += over(i) + over_too(i) + beside(i);
		if (!round && argc > 1)
			write_over(argv[1]);
		printf("round %d sum %ld same %d\n", round, sum, !memcmp((void *)over, was, PAGE));
	}
	return 7;
}
