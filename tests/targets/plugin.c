/* SPDX-License-Identifier: MIT */
/* A library that late.c and reopen.c load: it calls itself once while it is loaded. */
int plugin(int x);
__attribute__((noinline)) int plugin(int x)
{
	__asm__ volatile("" ::: "memory");
#ifdef OTHER
	return 2 * x;
#else
	return 3 * x + 1;
#endif
}

static int sum;

__attribute__((constructor)) static void begin(void)
{
	sum = plugin(1);
}
