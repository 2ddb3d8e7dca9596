/* SPDX-License-Identifier: MIT */
/* What the scripts of this folder are about. */
#include <stdlib.h>

struct point {
	int x;
	unsigned small : 3;
	struct point *next;
	const char *name;
	long numbers[4];
};

__attribute__((noinline)) int visit(struct point *p, int depth)
{
	return p->x + depth + (p->name ? p->name[0] : 0) + (int)p->numbers[depth & 3] + p->small;
}

int main(int argc, char **argv)
{
	struct point *p = calloc(1, sizeof(*p));

	p->name = argv[0];
	return visit(p, argc) & 1;
}
