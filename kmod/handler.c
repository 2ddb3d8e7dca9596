/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/* What handlers in this kernel are told. Context: any, down to the middle of an interrupt: nothing here sleeps or locks. */
#include <linux/cred.h>
#include <linux/pid.h>
#include <linux/pid_namespace.h>
#include <linux/sched.h>
#include <linux/sched/signal.h>
#include <linux/uaccess.h>
#include <linux/uidgid.h>

#include "script.h"
#include "../runtime/script.h"

enum { IDLE_PID = 0x80000000u }; /* idle tasks have no number: see engine/os/kernel/thread.c */

/* Programs and kernel have one address space, and no address in common. */
static bool is_user(uint64_t addr, uint32_t size)
{
	return addr < TASK_SIZE_MAX && size <= TASK_SIZE_MAX - addr;
}

int tl_home_read(void *dst, uint64_t addr, uint32_t size)
{
	long ret = is_user(addr, size)
			   ? copy_from_user_nofault(dst, (const void __user *)(uintptr_t)addr, size)
			   : copy_from_kernel_nofault(dst, (const void *)(uintptr_t)addr, size);

	return ret ? -1 : 0;
}

int tl_home_write(uint64_t addr, const void *src, uint32_t size)
{
	return is_user(addr, size) &&
			       !copy_to_user_nofault((void __user *)(uintptr_t)addr, src, size)
		       ? 0
		       : -1;
}

bool tl_home_of_program(uint64_t pc)
{
	return pc && is_user(pc, 1);
}

uint32_t tl_home_pid(uint32_t tid)
{
	return current->tgid ? (uint32_t)current->tgid : IDLE_PID;
}

void tl_home_comm(char comm[16])
{
	memcpy(comm, current->comm, 16);
	comm[15] = 0;
}

bool tl_home_wild_stacks(void)
{
	return true;
}

/* A task may change its number in the middle (exec), and idle ones have none: it is always asked for. */
const volatile uint32_t *tl_home_guests(void)
{
	static const uint32_t always = 1;

	return &always;
}

void tl_home_ids(struct tl_ids *who)
{
	*who = (struct tl_ids){(uint32_t)current->pid, (uint32_t)current->tgid};
}

/* It may be gone as soon as it is told: scripts read it as they read all memory. */
static bool find_task(int64_t pid, uint64_t value[2])
{
	rcu_read_lock();
	value[0] = pid ? (uintptr_t)pid_task(find_pid_ns((int)pid, &init_pid_ns), PIDTYPE_PID)
		       : (uintptr_t)current;
	rcu_read_unlock();
	return value[0] != 0;
}

bool tl_home_fact(uint32_t what, int64_t of, uint64_t value[2])
{
	const struct cred *cred = current_cred();

	if (what == TL_FACT_TASK)
		return find_task(of, value);
	if (of && of != current->tgid)
		return false;
	switch (what) {
	case TL_FACT_PPID:
		value[0] = (uint64_t)task_ppid_nr(current);
		return true;
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

/* Locks would have to be taken that the interrupted code may hold. */
bool tl_home_raise(int64_t sig)
{
	return false;
}

bool tl_home_writable(uint64_t addr)
{
	return false;
}

uint64_t tl_home_original(uint64_t pc)
{
	return pc;
}
