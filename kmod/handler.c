/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/* What handlers in this kernel are told. Context: any, down to the middle of an interrupt: nothing here sleeps or locks. */
#include <linux/sched.h>
#include <linux/sched/task_stack.h>
#include <linux/smp.h>
#include <linux/uaccess.h>

#include "../engine/os/kernel/machine.h"
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

/*
 * What a system call, a fault or an interrupt has kept of the program as it came into the kernel. It stands at one place,
 * whatever else has come in between. Helpers of a program (io_uring) have its memory, but never were in it.
 */
int tl_home_left(struct tl_from *at)
{
	struct pt_regs *user = task_pt_regs(current);

	if (!current->mm || current->flags & PF_KTHREAD || !user_mode(user))
		return 0;
	tl_machine_place(user, &at->pc, &at->sp, &at->fp);
	return at->pc != 0;
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

uint32_t tl_home_processor(void)
{
	return raw_smp_processor_id() + 1;
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
