/* SPDX-License-Identifier: MIT */
/*
 * A thread changes text of the program's own, which it calls in between, twice a millisecond: it is executable, and then `r`
 * readable only, `0` inaccessible, or `u` not mapped at all. A byte on standard input begins that, and one ends it.
 */
#define _GNU_SOURCE
#include <fcntl.h>
#include <pthread.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

enum { PAGE = 4096, FUNCTIONS = 8, REST_US = 500 };

#define FUNCTION(n)                                                                                \
	__attribute__((noinline, section("flipping"), aligned(4096))) long flips##n(long x)        \
	{                                                                                          \
		__asm__ volatile("" : "+r"(x));                                                    \
		return x * (n + 3) + 1;                                                            \
	}
FUNCTION(0)
FUNCTION(1)
FUNCTION(2)
FUNCTION(3)
FUNCTION(4)
FUNCTION(5)
FUNCTION(6)
FUNCTION(7)

static long (*const functions[FUNCTIONS])(long) = {
	flips0, flips1, flips2, flips3, flips4, flips5, flips6, flips7};

static unsigned char was[FUNCTIONS * PAGE], *const text = (unsigned char *)flips0;
static volatile enum { WAITING, FLIPPING, ENDING, OVER } state;
static char how;
static int program;
static long offset, rounds, wrong;

/* Of the text in its file. */
static long offset_of(const void *at)
{
	unsigned long lo, hi;
	long off, found = -1;
	char line[1024];
	FILE *f = fopen("/proc/self/maps", "re");

	while (f && fgets(line, sizeof(line), f)) {
		if (sscanf(line, "%lx-%lx %*s %lx", &lo, &hi, &off) == 3 &&
			(unsigned long)at >= lo && (unsigned long)at < hi)
			found = off + (long)((unsigned long)at - lo);
	}
	if (f)
		fclose(f);
	return found;
}

static int hide(void)
{
	if (how == 'u')
		return munmap(text, sizeof(was));
	return mprotect(text, sizeof(was), how == 'r' ? PROT_READ : PROT_NONE);
}

static int show(void)
{
	const int rx = PROT_READ | PROT_EXEC;

	if (how == 'u')
		return mmap(text, sizeof(was), rx, MAP_PRIVATE | MAP_FIXED, program, offset) ==
		       MAP_FAILED;
	return mprotect(text, sizeof(was), rx);
}

static void *flip(void *arg)
{
	(void)arg;
	while (state == WAITING)
		usleep(REST_US);
	while (state == FLIPPING) {
		wrong += hide() != 0;
		usleep(REST_US);
		wrong += show() != 0;
		for (int i = 0; i < FUNCTIONS; i++)
			wrong += functions[i](rounds) != rounds * (i + 3) + 1;
		rounds++;
		usleep(REST_US);
	}
	state = OVER;
	for (;;)
		pause();
}

int main(int argc, char **argv)
{
	pthread_t thread;
	char byte;

	how = argc > 1 ? *argv[1] : 'r';
	memcpy(was, text, sizeof(was));
	program = open("/proc/self/exe", O_RDONLY | O_CLOEXEC);
	offset = offset_of(text);
	setvbuf(stdout, NULL, _IOLBF, 0);
	if (offset < 0 || pthread_create(&thread, NULL, flip, NULL))
		return 1;
	printf("ready\n");
	if (read(0, &byte, 1) != 1)
		return 2;
	state = FLIPPING;
	printf("flips\n");
	if (read(0, &byte, 1) != 1)
		return 2;
	state = ENDING;
	while (state != OVER)
		usleep(REST_US);
	printf("wrong %ld same %d\n", wrong, !memcmp(text, was, sizeof(was)));
	return read(0, &byte, 1) ? 3 : 7;
}
