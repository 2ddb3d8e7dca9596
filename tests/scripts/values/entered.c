/* SPDX-License-Identifier: MIT */
/* Parameters that are gone after the first call: only what the registers held at the entry tells of them. */
#include <pthread.h>
#include <stdio.h>
__attribute__((noinline)) int keep(int n)
{
	__asm__ volatile("" : "+r"(n) : : "memory");
	return n;
}
static inline __attribute__((always_inline)) int twice(int v)
{
	int s = keep(v);
	return s + keep(s + 1); /* TWICE */
}
__attribute__((noinline)) int deep(int n, int m)
{
	int r = n > 0 ? deep(n - 1, m + 1) : keep(2);
	r += keep(r); /* DEEP */
	return r;
}
__attribute__((noinline)) int outer(int x)
{
	return twice(x) + 1;
}
__attribute__((noinline)) int await(int n)
{
	int c, s = 0;

	puts("ready");
	fflush(stdout);
	while ((c = getchar()) == '\n')
		s += keep(s + c); /* AWAIT */
	return s;
}
static void *work(void *arg)
{
	deep(2, (int)(long)arg);
	outer((int)(long)arg);
	return NULL;
}
int main(int argc, char **argv)
{
	(void)argv;
	if (argc > 1)
		return await(argc) < 0;
	for (long n = 10; n < 30; n += 10) {
		pthread_t t;

		pthread_create(&t, NULL, work, (void *)n);
		pthread_join(t, NULL);
	}
	return 0;
}
