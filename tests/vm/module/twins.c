/* SPDX-License-Identifier: MIT */
/*
 * A module with three functions of one name: the first runs once, as it starts; the others when something is written to
 * /sys/module/trapless_twins/parameters/run, one once, the other twice.
 */
#include <linux/module.h>

#include "twins.h"

static noinline long __init twin(long x)
{
	barrier();
	return x;
}

static int run(const char *value, const struct kernel_param *param)
{
	WRITE_ONCE(*(long *)param->arg, twins_first(1) + twins_second(2) + twins_second(3));
	return 0;
}

static const struct kernel_param_ops ops = {.set = run};
static long sum;

module_param_cb(run, &ops, &sum, 0200);

static int __init twins_init(void)
{
	sum = 7 * twin(1);
	return 0;
}

static void __exit twins_exit(void)
{
}

module_init(twins_init);
module_exit(twins_exit);
MODULE_DESCRIPTION("trapless: functions of one name");
MODULE_LICENSE("Dual MIT/GPL");
