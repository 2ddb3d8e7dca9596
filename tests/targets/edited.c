// SPDX-License-Identifier: MIT
// Functions, structures and a label for an editor to name; nobody runs it.
#include <stddef.h>

struct point {
	int x, y;
};

struct shape {
	const char *name;
	struct point corners[4];
	struct shape *next;
};

__attribute__((noinline)) static int shape_area(const struct shape *shape, int scale)
{
	int width = shape->corners[1].x - shape->corners[0].x;

	if (width < 0)
		goto negative;
	return width * scale;
negative:
	return -width * scale;
}

__attribute__((noinline)) static size_t shape_count(const struct shape *first)
{
	size_t count = 0;

	for (; first; first = first->next)
		count++;
	return count;
}

int main(int argc, char **argv)
{
	struct shape one = {argv[0], {{argc, 0}}, NULL};

	return shape_area(&one, argc) + (int)shape_count(&one);
}
