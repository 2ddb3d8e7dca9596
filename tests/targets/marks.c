// SPDX-License-Identifier: MIT
// Static marks as <sys/sdt.h> sets them, some with a semaphore, of which the first letter of a line read tells what to do.
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "mark.h"

#define MARK(name, args, ...) MARK_(name, "0", args, __VA_ARGS__)

struct pair {
	int64_t first, second;
};

unsigned short watched_semaphore __attribute__((section(".probes")));
int32_t total = -7;
uint16_t table[4] = {1, 2, 65535, 4};
static double real = 1.5;

__attribute__((noinline)) static void forms(
	int8_t small, uint8_t byte, int16_t *words, long i, struct pair *p)
{
	MARK("registers", "-1@%b0 1@%b1 -8@%2 8@%3", "r"(small), "r"(byte), "r"(i), "r"(p));
	MARK("memory", "-2@(%0,%1,2) -8@8(%2) -4@total(%%rip) 2@table+4(%%rip) 4@4+total-4(%%rip)",
		"r"(words), "r"(i), "r"(p));
	MARK("constants", "-4@$-3 4@$0xffffffff -1@$200 1@$200 -8@$5", "r"(i));
	MARK("high", "1@%%ah -1@%%ah -4@%%eax", "a"(0x81fe));
	MARK("odd", "8f@%0 -4@$1 8@%%fs:0 16@%1 -4@nowhere(%%rip) 4@%%r17", "x"(real), "x"(real));
	MARK("none", "", "r"(i));
}

__attribute__((noinline)) static void watched(int n)
{
	if (__builtin_expect(__atomic_load_n(&watched_semaphore, __ATOMIC_SEQ_CST), 0))
		MARK_("watched", "watched_semaphore", "-4@%k0", "r"(n));
}

static void child(void)
{
	int status;
	pid_t pid = fork();

	if (!pid)
		_exit(watched_semaphore);
	waitpid(pid, &status, 0);
	printf("child %d\n", WEXITSTATUS(status));
}

int main(void)
{
	struct pair pair = {1, -(1ll << 40)};
	int16_t words[3] = {10, -20, 30};
	char line[16];
	int n = 0;

	printf("ready\n");
	fflush(stdout);
	while (fgets(line, sizeof(line), stdin)) {
		forms(-5, 250, words, 1, &pair);
		watched(++n);
		if (*line == 'f')
			child();
		else
			printf("%u\n", watched_semaphore);
		fflush(stdout);
	}
	return 0;
}
