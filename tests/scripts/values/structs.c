/* SPDX-License-Identifier: MIT */
#include <stdio.h>
#include <stdbool.h>
struct pair {
	int a, b;
};
struct big {
	long v[5];
};
struct anon {
	int tag;
	union {
		int i;
		char c;
		struct {
			short lo, hi;
		};
	};
	int (*fn)(int);
	bool on;
	signed char sc;
	struct pair ps[3];
};
static __thread int tls = 7;
static int hidden = 9;
__attribute__((noinline)) struct big mk(int x, double d, struct pair p, struct big g, int y)
{
	struct big r = {{x, (long)d, p.a, g.v[1], y}};
	__asm__ volatile("" ::: "memory");
	tls++;
	hidden++;
	return r;
}
__attribute__((noinline)) int anonf(struct anon *a, int i, float f)
{
	__asm__ volatile("" : : "r"(a), "r"(i) : "memory");
	return a->ps[i].b + (int)f;
}
__attribute__((noinline)) void vv(const void *p, char **argv, const struct pair *const cp)
{
	__asm__ volatile("" : : "r"(p), "r"(argv), "r"(cp) : "memory");
}
static int twice(int x)
{
	return 2 * x;
}
int main(int argc, char **argv)
{
	struct anon a = {1, {0x00020003}, twice, true, -3, {{1, 2}, {3, 4}, {5, 6}}};
	struct pair p = {10, 20};
	struct big g = {{1, 2, 3, 4, 5}};
	struct big r = mk(3, 2.5, p, g, 8);
	int k = anonf(&a, 2, 1.5f);
	vv(&a, argv, &p);
	printf("%ld %d %d\n", r.v[3], k, tls + hidden);
	return 0;
}
