/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/* The engine lock, which an operation is done under. */
#include <linux/delay.h>
#include <linux/sched.h>
#include "kernel.h"

static DEFINE_MUTEX(engine);
static struct task_struct *owner; /* who alone can compare it */

void tl_os_lock(void)
{
	mutex_lock(&engine);
	WRITE_ONCE(owner, current);
	tl_reserved_begin();
}

void tl_os_unlock(void)
{
	tl_code_seal();
	tl_faults_settle();
	WRITE_ONCE(owner, NULL);
	mutex_unlock(&engine);
}

bool tl_os_lock_held(void)
{
	return READ_ONCE(owner) == current;
}

void tl_os_pause(unsigned microseconds)
{
	usleep_range(microseconds, 2 * microseconds);
}
