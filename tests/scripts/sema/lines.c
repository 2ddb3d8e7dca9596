// SPDX-License-Identifier: MIT
// A module of a kernel with debug information, as far as pass 2 can tell.
struct item {
	int size;
	struct item *next;
};

static int calls;

static inline __attribute__((always_inline)) long lines_double(long value)
{
	return 2 * value;
}

__attribute__((noinline)) long lines_sum(struct item *first, int most)
{
	long sum = most;

	calls++;
	for (struct item *item = first; item; item = item->next)
		sum += lines_double(item->size); /* added */
	return sum;
}

__attribute__((section(".init.text"))) int lines_init(struct item *first)
{
	return lines_sum(first, 1) > 2; /* once */
}

const char exported[] __attribute__((section("__ksymtab_strings"))) = "lines_sum\0lines_space";
