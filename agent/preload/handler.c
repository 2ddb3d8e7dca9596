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

/* The system call that tells it of oneself; -1: none. */
static long call_for(uint32_t what)
{
	switch (what) {
	case TL_FACT_PPID:
		return TL_NR_getppid;
	case TL_FACT_PGRP:
		return TL_NR_getpgrp;
	case TL_FACT_SID:
		return TL_NR_getsid;
	case TL_FACT_UID:
		return TL_NR_getuid;
	case TL_FACT_EUID:
		return TL_NR_geteuid;
	case TL_FACT_GID:
		return TL_NR_getgid;
	case TL_FACT_EGID:
		return TL_NR_getegid;
	default:
		return -1;
	}
}

bool tl_home_fact(uint32_t what, int64_t of, uint64_t value[2])
{
	long call = call_for(what);

	if (of || call < 0)
		return false;
	value[0] = (uint64_t)tl_syscall3(call, 0, 0, 0);
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
