/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/*
 * Breakpoints in kernel text. One that is ours only changes where the
 * interrupted code goes on; all others are left to whoever is next.
 *
 * We come first of all: a breakpoint of ours in somebody who is asked before
 * us would be hit once more on the way to us, without end. What runs before
 * anybody is asked the kernel has marked, as its own kprobes need it.
 */
#include <linux/kdebug.h>
#include <linux/notifier.h>
#include <linux/rcupdate.h>
#include "../traptab.h"
#include "kernel.h"
#include "machine.h"

/* Any context, interrupts off. A breakpoint that was just taken away is still in the table: see tl_text_apply(). */
static int on_die(struct notifier_block *nb, unsigned long what, void *data)
{
	const struct die_args *args = data;
	uintptr_t at = tl_machine_trapped(what, args->regs), detour;

	detour = at ? tl_traptab_find(at) : 0;
	if (!detour)
		return NOTIFY_DONE;
	instruction_pointer_set(args->regs, detour);
	return NOTIFY_STOP;
}
NOKPROBE_SYMBOL(on_die);

static struct notifier_block die_block = {.notifier_call = on_die, .priority = INT_MAX};

/*
 * Registering would put us behind those of the same priority, of which there are some. Nobody has a higher one, so none
 * that comes later comes before us.
 */
int tl_trap_init(void)
{
	struct atomic_notifier_head *chain = tl_names.die_chain;
	unsigned long flags;

	spin_lock_irqsave(&chain->lock, flags);
	die_block.next = chain->head;
	rcu_assign_pointer(chain->head, &die_block);
	spin_unlock_irqrestore(&chain->lock, flags);
	return 0;
}

/* Waits for those that are in on_die(). */
void tl_trap_exit(void)
{
	unregister_die_notifier(&die_block);
	tl_traptab_reset();
}

/* Notifiers are called as RCU's readers are. */
bool tl_traptab_wait(void)
{
	synchronize_rcu();
	return true;
}

int tl_os_trap_add(uintptr_t addr, uintptr_t detour)
{
	return tl_traptab_set(addr, detour);
}

/* Exceptions of the kernel's own cannot be blocked. */
bool tl_os_trap_may_kill(void)
{
	return false;
}
