/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/* What a handler has to know or to read, without a guardian: the kernel tells. */
#include "../agent.h"
#include "../machine/machine.h"
#include "../../engine/os/process/process.h"
#include "../../runtime/script.h"

enum { PR_GET_NAME = 16 };

uint32_t tl_home_pid(uint32_t tid)
{
	(void)tid;
	return (uint32_t)tl_syscall3(TL_NR_getpid, 0, 0, 0);
}

void tl_home_comm(char comm[16])
{
	tl_syscall3(TL_NR_prctl, PR_GET_NAME, (long)comm, 0);
}

/* Numbers of system calls that tell of oneself. */
static const uint16_t tells[TL_FACTS] = {
	[TL_FACT_PPID] = TL_NR_getppid,
	[TL_FACT_PGRP] = TL_NR_getpgrp,
	[TL_FACT_SID] = TL_NR_getsid,
	[TL_FACT_UID] = TL_NR_getuid,
	[TL_FACT_EUID] = TL_NR_geteuid,
	[TL_FACT_GID] = TL_NR_getgid,
	[TL_FACT_EGID] = TL_NR_getegid,
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
	long ret = copy(TL_NR_process_vm_readv, dst, addr, size);

	if (ret == (long)size)
		return 0;
	if (ret >= 0 || ret == -TL_EFAULT)
		return -1;
	return tl_os_text_read(addr, dst, size) == size ? 0 : -1;
}

int tl_home_write(uint64_t addr, const void *src, uint32_t size)
{
	return copy(TL_NR_process_vm_writev, (void *)(uintptr_t)src, addr, size) == (long)size ? 0
											       : -1;
}
