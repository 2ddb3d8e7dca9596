/* SPDX-License-Identifier: MIT */
/* Functions, one of them inlined into two others, and variables of all kinds, for lists of points. */
#include <stdio.h>

struct point {
	int x, y;
};

static inline __attribute__((always_inline)) int add(int a, int b) /* ADD */
{
	volatile int sum = a; /* ADDED */

	sum += b;
	return sum * 3;
}

__attribute__((noinline)) int give(const char *name, struct point *p, long numbers[3]) /* GIVE */
{
	static int calls;
	volatile int r = ++calls;

	r += add(p->x, p->y); /* GIVEN */
	{
		volatile long last = numbers[2];

		r += last; /* LAST */
	}
	return r + name[0];
}

/* COMPARE */ static __attribute__((noinline)) int compare(
	void *v, const void *w, char **s, int (*f)(int))
{
	__asm__ volatile("");
	return v == w || s == v || f == NULL;
}

int main(int argc, char **argv) /* MAIN */
{
	long numbers[3] = {1, 2, 3};
	struct point p = {argc, 2};

	for (int i = 0; i < 3; i++)
		give(argv[0], &p, numbers);
	printf("%d %d\n", add(argc, 7), compare(argv, numbers, argv, 0));
	return 0;
}
