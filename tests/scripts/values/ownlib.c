/* SPDX-License-Identifier: MIT */
/* A library whose threads have variables of their own; it tells what they hold. */
#include "own.h"
static __thread long room[3] = {1, 2, 3};
static __thread long mine = 10;
__thread int shown = 5;
__attribute__((noinline)) void fresh(int n)
{
	__asm__ volatile("" : : "r"(n) : "memory");
}
__attribute__((noinline)) void told(long m, int s, const void *at)
{
	__asm__ volatile("" : : "r"(m), "r"(s), "r"(at) : "memory");
}
void use(int n)
{
	mine += n;
	shown = 2 * n;
	room[1] = mine;
	told(mine, shown, &room[1]);
}
