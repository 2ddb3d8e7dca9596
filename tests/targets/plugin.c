/* SPDX-License-Identifier: MIT */
/* A library that late.c loads: it calls itself once while it is loaded. */
int plugin(int x);
__attribute__((noinline)) int plugin(int x)
{
	__asm__ volatile("" ::: "memory");
	return 3 * x + 1;
}

static int sum;

__attribute__((constructor)) static void begin(void)
{
	sum = plugin(1);
}
