/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/* Modules that come: a session may have probes of them, which are armed once they are there. */
#include "modules.h"

#include <linux/atomic.h>
#include <linux/module.h>
#include <linux/notifier.h>
#include <linux/wait.h>

#include "../engine/core/probe/gone.h"

static DECLARE_WAIT_QUEUE_HEAD(waiting);
static atomic_t come = ATOMIC_INIT(0);

/*
 * One that comes is told when its own start is over: what is used only once is gone then, and jump labels are as they
 * will stay. One that goes takes its probes along at once: the next may lie where it was.
 */
static int on_module(struct notifier_block *nb, unsigned long state, void *module)
{
	if (state == MODULE_STATE_GOING)
		tl_text_look();
	if (state == MODULE_STATE_LIVE) {
		atomic_inc(&come);
		wake_up_all(&waiting);
	}
	return NOTIFY_DONE;
}

/* Behind the engine, which takes note of what has gone. */
static struct notifier_block block = {.notifier_call = on_module, .priority = -1};

unsigned modules_come(void)
{
	return (unsigned)atomic_read(&come);
}

void modules_wait(struct file *file, poll_table *table)
{
	poll_wait(file, &waiting, table);
}

int modules_start(void)
{
	return register_module_notifier(&block);
}

void modules_stop(void)
{
	unregister_module_notifier(&block);
}
