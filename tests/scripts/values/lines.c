/* SPDX-License-Identifier: MIT */
#include <stdio.h>
int total;
__attribute__((noinline)) int step(int a)
{
	int local = a * 3;
	int other = local - 1;
	total += other;
	__asm__ volatile("" : "+m"(total) : "r"(local) : "memory");
	return total + local;
}
static inline __attribute__((always_inline)) int inl(int q)
{
	__asm__ volatile("" : "+r"(q));
	return q + 1;
}
int main(void)
{
	int s = 0;
	for (int i = 1; i < 4; i++) {
		s += step(i) + inl(s);
	}
	printf("%d\n", s);
	return 0;
}
