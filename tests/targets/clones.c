/* SPDX-License-Identifier: MIT */
/* A function whose result nobody wants: at -O2 gcc makes a clone (.isra) that has none. */
#include <stdio.h>

struct point {
	int x, y;
};

static int sum;

static __attribute__((noinline)) int unwanted(struct point *p, int n)
{
	sum += p->x * n;
	return n * 7;
}

int main(int argc, char **argv)
{
	struct point p = {argc, 2};
	int i;

	(void)argv;
	for (i = 0; i < 10; i++)
		unwanted(&p, i * argc);
	printf("sum %d\n", sum);
	return 7;
}
