/* SPDX-License-Identifier: MIT */
/* Parameters that come in registers and lie on the stack later; each call tells where they were. */
#include <stdio.h>
struct pair {
	int a, b;
};
long told[2];
__attribute__((noinline)) void tell(int n, const void *at)
{
	__asm__ volatile("" : : "r"(at) : "memory");
	told[n] = (long)at;
}
__attribute__((noinline)) int keep(int x, struct pair p)
{
	tell(0, &x);
	tell(1, &p.b);
	return x + p.b;
}
__attribute__((noinline)) int end(int n)
{
	__asm__ volatile("" : "+r"(n));
	return n;
}
int main(void)
{
	struct pair p = {3, 4};
	int sum = 0;

	for (int i = 0; i < 2; i++)
		sum += end(keep(i, p));
	printf("%d\n", sum);
	return 0;
}
