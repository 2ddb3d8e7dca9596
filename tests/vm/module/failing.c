/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/* Counts what a trapless.ko that is built with failing.h allocates, and has one of it fail. */
#include <linux/module.h>

#include "failing.h"

static int at;
module_param(at, int, 0600);
MODULE_PARM_DESC(at, "the how-manyth from now on fails; reads 0 when it has");
static int live;
module_param(live, int, 0400);
MODULE_PARM_DESC(live, "how many are allocated and not freed");

static DEFINE_SPINLOCK(lock);

bool failing_now(void)
{
	unsigned long flags;
	bool ret;

	spin_lock_irqsave(&lock, flags);
	ret = at > 0 && !--at;
	spin_unlock_irqrestore(&lock, flags);
	if (ret)
		pr_info("failing: none for %pS\n", __builtin_return_address(0));
	return ret;
}
EXPORT_SYMBOL_GPL(failing_now);

static void count(int by)
{
	unsigned long flags;

	spin_lock_irqsave(&lock, flags);
	live += by;
	spin_unlock_irqrestore(&lock, flags);
}

void *failing_had(const volatile void *mem)
{
	if (mem)
		count(1);
	return (void *)mem;
}
EXPORT_SYMBOL_GPL(failing_had);

void *failing_given(const volatile void *mem)
{
	if (mem)
		count(-1);
	return (void *)mem;
}
EXPORT_SYMBOL_GPL(failing_given);

MODULE_DESCRIPTION("memory that runs out when it is told to");
MODULE_LICENSE("Dual MIT/GPL");
