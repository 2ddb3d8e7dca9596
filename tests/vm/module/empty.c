/* SPDX-License-Identifier: MIT */
/*
 * One probe with empty handlers before and behind an instruction, for as long
 * as the module is loaded: what that costs, ours or the kernel's own.
 *
 *     insmod trapless_empty.ko function=NAME [kprobe=1 | kretprobe=1]
 */
#define pr_fmt(fmt) fmt

#include <linux/module.h>
#include "vm.h"

static char *function;
static bool kprobe, kretprobe;

module_param(function, charp, 0);
module_param(kprobe, bool, 0);
module_param(kretprobe, bool, 0);

/* --- ours -------------------------------------------------------------------------- */

static int before(struct tl_probe *p, struct tl_regs *regs, struct tl_thread *self)
{
	return 0;
}

static void behind(struct tl_probe *p, struct tl_regs *regs, struct tl_thread *self)
{
}

static struct tl_probe ours = {.pre = before, .post = behind};

/* --- the kernel's --------------------------------------------------------------------- */

static atomic_long_t calls, returns;

static int kernel_before(struct kprobe *p, struct pt_regs *regs)
{
	return 0;
}

static void kernel_behind(struct kprobe *p, struct pt_regs *regs, unsigned long flags)
{
}

static int kernel_entry(struct kretprobe_instance *i, struct pt_regs *regs)
{
	atomic_long_inc(&calls);
	return 0;
}

static int kernel_return(struct kretprobe_instance *i, struct pt_regs *regs)
{
	atomic_long_inc(&returns);
	return 0;
}

static struct kprobe theirs = {.pre_handler = kernel_before, .post_handler = kernel_behind};
static struct kretprobe pair = {.entry_handler = kernel_entry, .handler = kernel_return};

static int __init empty_init(void)
{
	u8 *at = function ? find(function) : NULL;

	if (!at)
		return -ENOENT;
	theirs.addr = pair.kp.addr = (void *)at;
	ours.addr = at + behind_entry(at);
	if (kprobe)
		return register_kprobe(&theirs);
	if (kretprobe)
		return register_kretprobe(&pair);
	return tl_probe_register(&ours) ? -EINVAL : 0;
}

static void __exit empty_exit(void)
{
	if (kprobe)
		unregister_kprobe(&theirs);
	else if (kretprobe)
		unregister_kretprobe(&pair);
	else
		tl_probe_unregister(&ours);
}

module_init(empty_init);
module_exit(empty_exit);
MODULE_DESCRIPTION("trapless: an empty probe");
MODULE_LICENSE("Dual MIT/GPL");
