/* SPDX-License-Identifier: MIT */
/*
 * Does what it is told to by lines on standard input: `work N`, `idle N` (calls), `load LIBRARY`, `call N` (that one's
 * plugin()), `close -`, `cling -` (keeps addresses in all code without a file on its stack), `pretend -` (the same, with small
 * numbers behind each, as its flags and segments are in a signal's frame). Says `done` to each; ends with the input.
 */
#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

__attribute__((noinline)) long work(long a, long b)
{
	__asm__ volatile("" ::: "memory");
	return a * 3 + b;
}

__attribute__((noinline)) long idle(long a, long b)
{
	__asm__ volatile("" ::: "memory");
	return a * 5 + b;
}

static void *library;

static long called(const char *what, long i)
{
	if (!strcmp(what, "work"))
		return work(i, 1);
	if (!strcmp(what, "idle"))
		return idle(i, 1);
	return ((int (*)(int))dlsym(library, "plugin"))((int)i);
}

/* 0: done. It stands behind those functions: without traps the last byte of a text is probed at few addresses. */
__attribute__((noinline)) int load_or_close(const char *what, const char *with)
{
	if (!strcmp(what, "load"))
		return !(library = dlopen(with, RTLD_NOW));
	return strcmp(what, "close") || dlclose(library);
}

static void cling(volatile unsigned long *kept, int n, int behind)
{
	static const unsigned long numbers[] = {2, 7};
	char line[1024], file[2];
	unsigned long lo;
	FILE *f = fopen("/proc/self/maps", "r");

	while (n > behind && f && fgets(line, sizeof(line), f)) {
		if (sscanf(line, "%lx-%*x r-xp %*x %*s 0 %1s", &lo, file) != 1)
			continue;
		for (int i = behind; i > 0; i--)
			kept[--n] = numbers[i - 1];
		kept[--n] = lo + 64;
	}
	if (f)
		fclose(f);
}

int main(void)
{
	volatile unsigned long kept[64];
	volatile long sum = 0;
	char what[16], with[1024], *end;
	long n;

	printf("ready %d\n", getpid());
	fflush(stdout);
	while (scanf("%15s %1023s", what, with) == 2) {
		n = strtol(with, &end, 10);
		if (!strcmp(what, "cling"))
			cling(kept, 64, 0);
		else if (!strcmp(what, "pretend"))
			cling(kept, 64, 2);
		else if (*end && load_or_close(what, with))
			return 1;
		for (long i = 0; !*end && i < n; i++)
			sum += called(what, i);
		puts("done");
		fflush(stdout);
	}
	return 7;
}
