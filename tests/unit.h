/* SPDX-License-Identifier: MIT */
/*
 * The whole C unit test framework. A test is a function; a check that fails
 * reports itself and ends the test. Output is one line a test, read by
 * tests/run: `ok NAME`, `not ok NAME: why`, `skip NAME: why`.
 */
#ifndef TRAPLESS_TESTS_UNIT_H
#define TRAPLESS_TESTS_UNIT_H
#include <stdio.h>
#include <stdlib.h>

static const char *unit_why; /* set by a failed CHECK or a SKIP */
static int unit_skipped, unit_failures;
static unsigned long unit_drawn; /* the latest seed, 0: none */

#define UNIT_STR2(x) #x
#define UNIT_STR(x)  UNIT_STR2(x)

#define CHECK(cond)                                                                                \
	do {                                                                                       \
		if (!(cond)) {                                                                     \
			unit_why = __FILE__ ":" UNIT_STR(__LINE__) ": " #cond;                     \
			return;                                                                    \
		}                                                                                  \
	} while (0)

#define SKIP(why)                                                                                  \
	do {                                                                                       \
		unit_why = (why);                                                                  \
		unit_skipped = 1;                                                                  \
		return;                                                                            \
	} while (0)

/* For a reason with figures in it. */
static inline const char *unit_told(const char *format, long a, long b)
{
	static char text[128];

	snprintf(text, sizeof(text), format, a, b);
	return text;
}

/* SEED, or the usual one: what a failing test says repeats it. */
static inline unsigned long unit_seed(unsigned long usual)
{
	const char *said = getenv("SEED");

	return unit_drawn = said ? strtoul(said, NULL, 0) : usual;
}

#define RUN(fn)                                                                                    \
	do {                                                                                       \
		unit_why = NULL;                                                                   \
		unit_skipped = 0;                                                                  \
		fn();                                                                              \
		if (unit_drawn)                                                                    \
			printf("# SEED=%lu\n", unit_drawn);                                        \
		if (unit_skipped)                                                                  \
			printf("skip %s: %s\n", #fn, unit_why);                                    \
		else if (unit_why)                                                                 \
			printf("not ok %s: %s\n", #fn, unit_why), unit_failures++;                 \
		else                                                                               \
			printf("ok %s\n", #fn);                                                    \
		fflush(stdout);                                                                    \
	} while (0)

#define UNIT_RESULT() (unit_failures != 0)
#endif
