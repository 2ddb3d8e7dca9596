/* SPDX-License-Identifier: MIT */
/*
 * work N       opens a file N times
 * work wild    opens one where there is none, with a stack pointer that leads nowhere
 */
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

/* What nobody can read lies behind the stack pointer, and there its path is said to be. */
static long open_wildly(void)
{
	const unsigned long nowhere = 1ul << 63;
	long ret = SYS_openat;

	__asm__ volatile("xchg %%rsp, %1\n\tsyscall\n\txchg %%rsp, %1"
			 : "+a"(ret)
			 : "b"(nowhere), "D"((long)AT_FDCWD), "S"(nowhere + 8), "d"(O_RDONLY)
			 : "rcx", "r11", "memory");
	return ret;
}

int main(int argc, char **argv)
{
	if (argc > 1 && !strcmp(argv[1], "wild"))
		return open_wildly() >= 0;
	for (int n = argc > 1 ? atoi(argv[1]) : 0; n; n--) {
		int fd = (int)syscall(SYS_openat, AT_FDCWD, "/init", O_RDONLY);

		if (fd < 0)
			return 1;
		close(fd);
	}
	return 0;
}
