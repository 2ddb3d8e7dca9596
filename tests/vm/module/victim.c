/* SPDX-License-Identifier: MIT */
/* A module that is unloaded with a probe in it. */
#include <linux/module.h>

long vm_victim(long x);
long vm_victim(long x)
{
	return 3 * x;
}
EXPORT_SYMBOL_GPL(vm_victim);

static int __init victim_init(void)
{
	return 0;
}

static void __exit victim_exit(void)
{
}

module_init(victim_init);
module_exit(victim_exit);
MODULE_DESCRIPTION("trapless: a module that goes");
MODULE_LICENSE("Dual MIT/GPL");
