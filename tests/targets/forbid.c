/* SPDX-License-Identifier: MIT */
/* Runs COMMAND where ptrace and the reading of other processes' memory are forbidden, as many containers are. */
#include <errno.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <stddef.h>
#include <stdio.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <unistd.h>

#define FORBIDDEN(nr, behind) BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, (nr), (behind), 0)

int main(int argc, char **argv)
{
	struct sock_filter code[] = {
		BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr)),
		FORBIDDEN(SYS_ptrace, 3),
		FORBIDDEN(SYS_process_vm_readv, 2),
		FORBIDDEN(SYS_process_vm_writev, 1),
		BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
		BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | EPERM),
	};
	struct sock_fprog filter = {sizeof(code) / sizeof(*code), code};

	if (argc < 2 || prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) ||
		prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &filter)) {
		perror("seccomp");
		return 77;
	}
	execv(argv[1], argv + 1);
	perror(argv[1]);
	return 127;
}
