/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/* What a handler has to know or to read, without a guardian: the kernel tells. */
#include "../agent.h"
#include "../../engine/os/process/process.h"

enum { NR_prctl = 157, NR_process_vm_readv = 310, PR_GET_NAME = 16 };

uint32_t tl_agent_pid(uint32_t tid)
{
	(void)tid;
	return (uint32_t)tl_syscall3(TL_NR_getpid, 0, 0, 0);
}

void tl_agent_comm(char comm[16])
{
	tl_syscall3(NR_prctl, PR_GET_NAME, (long)comm, 0);
}

struct span {
	void *base;
	size_t len;
};

/* By the kernel, which faults for us; where it may not, by looking first. */
int tl_agent_read(void *dst, uint64_t addr, uint32_t size)
{
	struct span here = {dst, size}, there = {(void *)(uintptr_t)addr, size};
	long ret = tl_syscall6(NR_process_vm_readv, tl_syscall3(TL_NR_getpid, 0, 0, 0), (long)&here,
		1, (long)&there, 1, 0);

	if (ret == (long)size)
		return 0;
	if (ret >= 0 || ret == -TL_EFAULT)
		return -1;
	return tl_os_text_read(addr, dst, size) == size ? 0 : -1;
}
