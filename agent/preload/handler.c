/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/* What a handler has to know or to read, without a guardian: the kernel tells. */
#include "../agent.h"
#include "../../engine/os/process/process.h"
#include "../../runtime/script.h"

enum { NR_prctl = 157, NR_process_vm_readv = 310, NR_process_vm_writev = 311, PR_GET_NAME = 16 };

uint32_t tl_home_pid(uint32_t tid)
{
	(void)tid;
	return (uint32_t)tl_syscall3(TL_NR_getpid, 0, 0, 0);
}

void tl_home_comm(char comm[16])
{
	tl_syscall3(NR_prctl, PR_GET_NAME, (long)comm, 0);
}

/* Numbers of system calls that tell of oneself. */
static const uint8_t tells[TL_FACTS] = {
	[TL_FACT_PPID] = 110,
	[TL_FACT_PGRP] = 111,
	[TL_FACT_SID] = 124,
	[TL_FACT_UID] = 102,
	[TL_FACT_EUID] = 107,
	[TL_FACT_GID] = 104,
	[TL_FACT_EGID] = 108,
};

bool tl_home_fact(uint32_t what, int64_t of, uint64_t value[2])
{
	if (of || what >= TL_FACTS || !tells[what])
		return false;
	value[0] = (uint64_t)tl_syscall3(tells[what], 0, 0, 0);
	return true;
}

/* The program's handler would run within ours, whose end everybody waits for. */
bool tl_home_raise(int64_t sig)
{
	(void)sig;
	return false;
}

struct span {
	void *base;
	size_t len;
};

/* Copies within the process by the kernel, which faults for us: bytes, or an error. */
static long copy(long nr, void *here, uint64_t there, uint32_t size)
{
	struct span own = {here, size}, other = {(void *)(uintptr_t)there, size};

	return tl_syscall6(
		nr, tl_syscall3(TL_NR_getpid, 0, 0, 0), (long)&own, 1, (long)&other, 1, 0);
}

/* Where the kernel may not, by looking first. */
int tl_home_read(void *dst, uint64_t addr, uint32_t size)
{
	long ret = copy(NR_process_vm_readv, dst, addr, size);

	if (ret == (long)size)
		return 0;
	if (ret >= 0 || ret == -TL_EFAULT)
		return -1;
	return tl_os_text_read(addr, dst, size) == size ? 0 : -1;
}

int tl_home_write(uint64_t addr, const void *src, uint32_t size)
{
	return copy(NR_process_vm_writev, (void *)(uintptr_t)src, addr, size) == (long)size ? 0
											    : -1;
}
