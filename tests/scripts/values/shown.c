/* SPDX-License-Identifier: MIT */
/* Variables as text: structures of all kinds, by pointer and by value. */
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

enum col { RED, GREEN = 5 };
enum sign { MINUS = -1, PLUS };
struct in {
	int a;
	char name[8];
	const char *s;
};
struct many {
	int m[2];
	int m2, m3, m4, m5, m6, m7, m8, m9, m10, m11, m12, m13, m14, m15, m16, m17, m18, m19, m20,
		m21, m22, m23, m24, m25, m26, m27, m28, m29, m30, m31, m32, m33, m34, m35;
};
struct opaque;
struct all {
	unsigned char uc;
	char c;
	signed char sc;
	bool b;
	enum col e;
	enum sign sign;
	float fl;
	struct in in;
	struct in *pin;
	union {
		int i;
		short lo;
	};
	struct {
		uint64_t big;
	};
	unsigned f3 : 3;
	int s5 : 5;
	uint8_t bytes[4];
	short sh[2][2];
	struct in ins[2];
	int (*fn)(int);
	struct opaque *op;
	const char *texts[2];
	char flex[];
};
struct pair {
	int x;
	short y, z;
};

struct nibbles {
	signed char a : 4;
	unsigned char b : 4;
	char c;
};

static struct in global_in = {7, "seven", "g"};
static __thread int mine = 12;

__attribute__((noinline)) int show(
	struct all *p, struct all **pp, struct many *m, const char **argv, int (*f)(int), void *v)
{
	__asm__ volatile("" : : "r"(p), "r"(pp), "r"(m), "r"(argv), "r"(f), "r"(v) : "memory");
	mine++;
	return p->e + global_in.a;
}

__attribute__((noinline)) int small(struct pair p, double d, float f, char c)
{
	__asm__ volatile("" : : : "memory");
	return p.x + p.y + (int)d + (int)f + c;
}

__attribute__((noinline)) int halves(struct nibbles n, struct nibbles *p)
{
	__asm__ volatile("" : : "r"(p) : "memory");
	return n.a + p->b;
}

__attribute__((noinline)) struct pair both(int x)
{
	struct pair p = {x, 2, -3};

	return p;
}

__attribute__((noinline)) double half(double d)
{
	return d / 2;
}

static int fn(int x)
{
	return x;
}

int main(void)
{
	static struct all a = {200, 'c', -3, true, GREEN, MINUS, 1.5f, {1, "in", "s\n"}, &global_in,
		{0x50004}, {1ull << 40}, 5, -6, {'b', 'y', 't', 0}, {{-1, 2}, {3, 4}},
		{{2, "x", "y"}}, NULL, NULL, {"t0", "t1"}, "flex"};
	static struct many m = {.m = {8, 9}, .m2 = 2, .m35 = 35};
	static const char *argv[] = {"arg0", NULL};
	struct all *p = &a;
	struct pair q = {10, -20, 30};
	struct nibbles n = {-3, 13, 'n'};

	if (show(p, &p, &m, argv, fn, (void *)0x10) + small(q, 2.5, 0.25f, 'z') + both(1).x +
			half(9.0) + halves(n, &n) <
		0)
		return 1;
	printf("%d %d\n", mine, global_in.a);
	return 0;
}
