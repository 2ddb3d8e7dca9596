/* SPDX-License-Identifier: MIT */
/* Variables that a script changes: parameters, members, bit-fields, elements, globals, results. */
#include <stdio.h>

struct flags {
	unsigned low : 3;
	int mid : 7;
	unsigned char rest : 6;
};

struct item {
	short s;
	char c;
	long l;
	struct flags f;
	int row[4];
	struct item *next;
};

static volatile short counted = 7;
static volatile int limit = 5;

__attribute__((noinline)) int change(struct item *p, int by, unsigned char small)
{
	__asm__ volatile("" : "+r"(p), "+r"(by) : : "memory");
	printf("%d %d %d %d %ld ", by, small, p->s, p->c, p->l);
	printf("%d %d %d %d %d %d\n", p->f.low, p->f.mid, p->f.rest, p->row[1], p->row[3],
		p->next->row[0]);
	return by + limit;
}

__attribute__((noinline)) const char *name(const char *text)
{
	__asm__ volatile("" : "+r"(text) : : "memory");
	return text;
}

int main(void)
{
	struct item b = {0, 0, 0, {0, 0, 0}, {9}, NULL};
	struct item a = {-1, 'x', 1L << 40, {1, -2, 3}, {1, 2, 3, 4}, &b};
	int n = change(&a, 1, 2);

	printf("%d %d\n", n, counted);
	n = change(&a, 1, 2);
	printf("%d %d %s\n", n, counted, name("text"));
	return 0;
}
