/* SPDX-License-Identifier: MIT */
/*
 * Moves text of its own, by a byte each on standard input: `a` away, `b` back to where it was; `c` calls it there, `k` has
 * a child move it back and call it.
 */
#define _GNU_SOURCE
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

enum { PAGE = 4096, CALLS = 1000 };

__attribute__((noinline, section("moving"), aligned(4096))) long moves(long x)
{
	__asm__ volatile("" : "+r"(x));
	return 3 * x + 1;
}

__attribute__((noinline, section("moving"))) long moves_too(long x)
{
	__asm__ volatile("" : "+r"(x));
	return 5 * x + 1;
}

__attribute__((noinline)) long stays(long x)
{
	__asm__ volatile("" : "+r"(x));
	return 7 * x + 1;
}

static unsigned char was[PAGE];
static void *away;

static int move(void *from, void *to)
{
	return mremap(from, PAGE, PAGE, MREMAP_MAYMOVE | MREMAP_FIXED, to) != to;
}

static int move_away(void)
{
	return move((void *)moves, away);
}

/* What was reserved for it stays reserved. */
static int move_back(void)
{
	const int flags = MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED;

	return move(away, (void *)moves) || mmap(away, PAGE, PROT_NONE, flags, -1, 0) != away;
}

static long call(void)
{
	long sum = 0;

	for (int i = 0; i < CALLS; i++)
		sum += moves(i) + moves_too(i) + stays(i);
	return sum;
}

static int in_child(void)
{
	int status = -1;
	pid_t child = fork();

	if (!child)
		_exit(move_back() ? 1 : (int)(call() % 100));
	waitpid(child, &status, 0);
	return WIFEXITED(status) ? WEXITSTATUS(status) : -status;
}

int main(void)
{
	char what;

	setvbuf(stdout, NULL, _IOLBF, 0);
	memcpy(was, (void *)moves, PAGE);
	away = mmap(NULL, PAGE, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	printf("ready\n");
	while (read(0, &what, 1) == 1) {
		if (what == 'c')
			printf("sum %ld\n", call());
		else
			printf("%c %d\n", what,
				what == 'a'   ? move_away()
				: what == 'b' ? move_back()
					      : in_child());
	}
	printf("same %d\n", !memcmp((void *)moves, was, PAGE));
	return 7;
}
