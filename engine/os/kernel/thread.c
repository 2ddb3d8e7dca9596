/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/*
 * Whose calls are these? The task's; or those of what has interrupted it, which end on this processor before anything
 * else of this level runs here.
 */
#include <linux/pid.h>
#include <linux/pid_namespace.h>
#include <linux/sched.h>
#include <linux/preempt.h>
#include "contexts.h"
#include "kernel.h"

/* No task's: idle ones all have the process id 0; interrupts have none. */
#define IDLE	    0x80000000u
#define INTERRUPT   0x40000000u
#define ALWAYS_LIVE (IDLE | INTERRUPT)

uintptr_t tl_os_thread_key(bool early)
{
	return interrupt_context_level() ? (uintptr_t)tl_context_now() : (uintptr_t)current;
}

uint32_t tl_os_thread_id(uintptr_t key)
{
	const struct task_struct *t = (const struct task_struct *)key;
	unsigned n = tl_context_number((const struct tl_thread *)key);

	if (n < tl_contexts())
		return INTERRUPT | n;
	return t->pid ? (uint32_t)t->pid : IDLE | task_cpu(t);
}

bool tl_os_thread_same(uintptr_t key, uint32_t tid)
{
	return tl_os_thread_id(key) == tid;
}

void tl_os_thread_layout(int32_t *tid_offset, bool *fast_key)
{
	*tid_offset = offsetof(struct task_struct, pid);
	*fast_key = false;
}

bool tl_os_vectors(void)
{
	return false;
}

bool tl_os_thread_alive(uint32_t tid)
{
	bool ret;

	if (tid & ALWAYS_LIVE)
		return true;
	rcu_read_lock();
	ret = pid_task(find_pid_ns((int)tid, &init_pid_ns), PIDTYPE_PID) != NULL;
	rcu_read_unlock();
	return ret;
}

/* No handler is ever left behind here, so no stack pointer proves that one was. */
bool tl_os_on_signal_stack(void)
{
	return true;
}
