/* SPDX-License-Identifier: MIT */
/* gcc splits the functions that begin with a test. It takes the rest of `whole` back, as an instance
 * of `whole` within itself; that of `taken` stays apart, and the callers inline the test.
 */
#include <stdio.h>

__attribute__((noinline)) int mixed(int x)
{
	__asm__ volatile("" : "+r"(x));
	return x * 7;
}

static int taken(int *p, int n)
{
	if (!p)
		return 0;
	for (int i = 0; i < n; i++)
		p[i] += mixed(i) + mixed(p[i] * 3) + mixed(p[i] * 5) + mixed(p[i] * 7);
	return p[0];
}

__attribute__((noinline)) int first(int *p)
{
	return taken(p, 1) + 1;
}

__attribute__((noinline)) int second(int *p)
{
	return taken(p, 2) + 2;
}

int whole(int *p, int n)
{
	if (!p)
		return 0;
	for (int i = 0; i < n; i++)
		p[i] -= mixed(i) + mixed(p[i] * 3) + mixed(p[i] * 5) + mixed(p[i] * 7);
	return p[0];
}

/* A call within itself that is inlined is a call. */
int again(int n)
{
	return n < 2 ? n : again(n - 1) + mixed(again(n - 2));
}

int main(int argc, char **argv)
{
	int v[2] = {1, 2};
	int *p = argc > 1 ? NULL : v;
	return printf("%d\n", first(p) + second(p) + again(argc + 3)) < 0;
}
