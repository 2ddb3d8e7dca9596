/* SPDX-License-Identifier: MIT */
/*
 * What is a library function called with? An argument probe's handler has the
 * function's own parameters, floating point included, and is compiled like any
 * other code.
 *
 * The program watches hypot() of its own C library and tells how large the
 * arguments get and how many calls were pointless, since one of the two was 0.
 *
 *     make && ./arguments
 */
#include <math.h>
#include <stdio.h>
#include <trapless/argprobe.h>

static struct {
	long calls, pointless;
	double max_x, max_y;
} seen;

/* As hypot() but for the result. It may compute, but not block, allocate or print. */
static void on_hypot(double x, double y)
{
	seen.calls++;
	seen.pointless += x == 0 || y == 0;
	seen.max_x = x > seen.max_x ? x : seen.max_x;
	seen.max_y = y > seen.max_y ? y : seen.max_y;
}

int main(void)
{
	struct tl_argprobe p = {.entry = (void *)hypot, .handler = (tl_arg_fn)on_hypot};
	double length = 0;
	int ret = tl_argprobe_register(&p);

	if (ret) {
		fprintf(stderr, "cannot probe hypot: %s; %s\n", tl_error_text(ret),
			tl_error_next(ret));
		return 2;
	}
	for (int i = 0; i < 1000; i++)
		length += hypot(i, i % 10 * 0.5);
	tl_argprobe_unregister(&p);
	printf("length %.0f; %ld calls, x up to %g, y up to %g, %ld of them pointless\n", length,
		seen.calls, seen.max_x, seen.max_y, seen.pointless);
	return 0;
}
