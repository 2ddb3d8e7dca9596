/* SPDX-License-Identifier: MIT */
/* A module with debug information, whose lines, locals and inlined copies are probed. It works when its parameter is written. */
#include <linux/module.h>
#include <linux/moduleparam.h>

/* An instruction of this line, where both are alive. */
#define HERE(a, b) asm volatile("nop" : "+r"(a), "+r"(b))

struct item {
	int size;
	short kind : 4;
	char name[8];
};

static const struct item items[] = {
	{.size = 3, .kind = -2, .name = "one"},
	{.size = 50, .kind = 7, .name = "two"},
};

static int calls;

long lines_weight(long size, long times);

static __always_inline long doubled(long value)
{
	long twice = 2 * value;

	HERE(twice, value); /* doubled */
	return twice;
}

noinline long lines_weight(long size, long times) /* weight */
{
	long weight = doubled(size);

	HERE(weight, times); /* weighed */
	calls++;
	return doubled(weight) + times;
}
EXPORT_SYMBOL_GPL(lines_weight);

static noinline long sum_of(const struct item *first, int count)
{
	long sum = 0;

	for (int i = 0; i < count; i++) {
		const struct item *item = first + i;

		sum += lines_weight(item->size, i);
		HERE(sum, item); /* added */
	}
	return sum;
}

static int work(const char *text, const struct kernel_param *param)
{
	const struct item *first = items;
	int count = ARRAY_SIZE(items);

	HERE(first, count); /* else they would be known where they are used */
	return sum_of(first, count) > 0 && calls > 0 ? 0 : -EINVAL;
}

static const struct kernel_param_ops ops = {.set = work};
module_param_cb(work, &ops, NULL, 0200);
MODULE_DESCRIPTION("trapless: a module with debug information");
MODULE_LICENSE("Dual MIT/GPL");
