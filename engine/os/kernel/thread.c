/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/*
 * Who is running? The task. An interrupt is taken for the task that it
 * interrupted: its hits while that task is in a handler count as nested.
 */
#include <linux/pid.h>
#include <linux/pid_namespace.h>
#include <linux/sched.h>
#include "kernel.h"
#include "machine.h"

#define IDLE 0x80000000u /* idle tasks all have the process id 0, which is no thread id */

static uint32_t id_of(const struct task_struct *t)
{
	return t->pid ? (uint32_t)t->pid : IDLE | task_cpu(t);
}

uintptr_t tl_os_thread_key(bool early)
{
	return (uintptr_t)current;
}

uint32_t tl_os_thread_id(uintptr_t key)
{
	return id_of((const struct task_struct *)key);
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

bool tl_os_thread_key_percpu(int32_t *at)
{
	return tl_machine_current(at);
}

bool tl_os_vectors(void)
{
	return false;
}

bool tl_os_thread_alive(uint32_t tid)
{
	bool ret;

	if (tid & IDLE)
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
