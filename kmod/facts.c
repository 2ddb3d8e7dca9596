/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/* What handlers in this kernel ask of tasks, as /proc has it. Context: any, down to the middle of an interrupt: nothing sleeps or locks. */
#include <linux/cred.h>
#include <linux/mm.h>
#include <linux/pid.h>
#include <linux/pid_namespace.h>
#include <linux/sched.h>
#include <linux/sched/loadavg.h>
#include <linux/sched/signal.h>
#include <linux/uidgid.h>

#include "script.h"
#include "../runtime/script.h"

enum { PERCENT = 100 };

/* rcu_read_lock() held. 0: the running one. */
static struct task_struct *task_of(int64_t pid)
{
	return pid ? pid_task(find_pid_ns((int)pid, &init_pid_ns), PIDTYPE_PID) : current;
}

static void name_of(const struct task_struct *t, uint64_t value[2])
{
	memcpy(value, t->comm, TASK_COMM_LEN);
	((char *)value)[TASK_COMM_LEN - 1] = 0;
}

/* Of all its threads, and those that have ended. */
static void times_of(struct task_struct *t, uint64_t *user, uint64_t *system)
{
	struct task_struct *one;

	*user = t->signal->utime;
	*system = t->signal->stime;
	for_each_thread(t, one)
	{
		*user += one->utime;
		*system += one->stime;
	}
}

static uint64_t time_of(struct task_struct *t, uint32_t what, bool alone)
{
	uint64_t user = t->utime, system = t->stime;

	if (!alone)
		times_of(t, &user, &system);
	return what == TL_FACT_UTIME ? user : system;
}

/* Of any task that there is; it may be gone as soon as it is told. rcu_read_lock() held. */
static bool of_task(uint32_t what, int64_t of, uint64_t value[2])
{
	struct task_struct *t = task_of(of);

	if (!t)
		return false;
	switch (what) {
	case TL_FACT_TASK:
		value[0] = (uintptr_t)t;
		return true;
	case TL_FACT_PPID:
		value[0] = (uint64_t)rcu_dereference(t->real_parent)->tgid;
		return true;
	case TL_FACT_PARENTS_NAME:
		name_of(rcu_dereference(t->real_parent), value);
		return true;
	case TL_FACT_NAME:
		name_of(t, value);
		return true;
	case TL_FACT_UTIME:
	case TL_FACT_STIME:
		value[0] = time_of(t, what, !of);
		return true;
	default:
		return false;
	}
}

static bool of_user(uint32_t what, uint64_t value[2])
{
	const struct cred *cred = current_cred();

	switch (what) {
	case TL_FACT_PGRP:
		value[0] = (uint64_t)task_pgrp_nr_ns(current, &init_pid_ns);
		return true;
	case TL_FACT_SID:
		value[0] = (uint64_t)task_session_nr_ns(current, &init_pid_ns);
		return true;
	case TL_FACT_UID:
		value[0] = __kuid_val(cred->uid);
		return true;
	case TL_FACT_EUID:
		value[0] = __kuid_val(cred->euid);
		return true;
	case TL_FACT_GID:
		value[0] = __kgid_val(cred->gid);
		return true;
	case TL_FACT_EGID:
		value[0] = __kgid_val(cred->egid);
		return true;
	default:
		return false;
	}
}

static uint64_t shared_pages(struct mm_struct *mm)
{
	return get_mm_counter(mm, MM_FILEPAGES) + get_mm_counter(mm, MM_SHMEMPAGES);
}

/* The running task's own memory stays while it runs. */
static bool of_memory(uint32_t what, struct mm_struct *mm, uint64_t value[2])
{
	switch (what) {
	case TL_FACT_ARGS:
		value[0] = mm->arg_start;
		value[1] = mm->arg_end;
		return true;
	case TL_FACT_VARS:
		value[0] = mm->env_start;
		value[1] = mm->env_end;
		return true;
	case TL_FACT_SIZE:
		value[0] = mm->total_vm;
		return true;
	case TL_FACT_RSS:
		value[0] = shared_pages(mm) + get_mm_counter(mm, MM_ANONPAGES);
		return true;
	case TL_FACT_SHR:
		value[0] = shared_pages(mm);
		return true;
	case TL_FACT_TXT:
		value[0] = (PAGE_ALIGN(mm->end_code) - (mm->start_code & PAGE_MASK)) >> PAGE_SHIFT;
		return true;
	case TL_FACT_DATA:
		value[0] = mm->data_vm + mm->stack_vm;
		return true;
	default:
		return false;
	}
}

static uint64_t percent(unsigned long load)
{
	return (uint64_t)load * PERCENT >> FSHIFT;
}

static bool of_machine(uint32_t what, uint64_t value[2])
{
	if (what == TL_FACT_HZ) {
		value[0] = HZ;
		return true;
	}
	if (what != TL_FACT_LOAD)
		return false;
	value[0] = percent(avenrun[0]) | percent(avenrun[1]) << 32;
	value[1] = percent(avenrun[2]);
	return true;
}

/* A kernel thread has no memory of its own: nothing, and no arguments. */
static bool of_running(uint32_t what, uint64_t value[2])
{
	bool has_memory = what >= TL_FACT_ARGS && what <= TL_FACT_DATA;

	value[0] = value[1] = 0;
	if (has_memory && (!current->mm || current->flags & PF_KTHREAD))
		return true;
	return has_memory ? of_memory(what, current->mm, value)
			  : of_user(what, value) || of_machine(what, value);
}

bool tl_home_fact(uint32_t what, int64_t of, uint64_t value[2])
{
	bool told;

	rcu_read_lock();
	told = of_task(what, of, value);
	rcu_read_unlock();
	return told || ((!of || of == current->tgid) && of_running(what, value));
}
