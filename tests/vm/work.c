/* SPDX-License-Identifier: MIT */
/*
 * work N       opens a file N times
 * work spin    does so, and counts between the times, until it is killed
 * work wild    opens one where there is none, with a stack pointer that leads nowhere
 */
#include <fcntl.h>
#include <stdbool.h>
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

static bool opens(void)
{
	int fd = (int)syscall(SYS_openat, AT_FDCWD, "/init", O_RDONLY);

	return fd >= 0 && !close(fd);
}

static int spin(void)
{
	enum { STEPS = 1000 };

	while (opens())
		for (volatile int n = 0; n < STEPS; n++)
			;
	return 1;
}

int main(int argc, char **argv)
{
	const char *what = argc > 1 ? argv[1] : "0";

	if (!strcmp(what, "wild"))
		return open_wildly() >= 0;
	if (!strcmp(what, "spin"))
		return spin();
	for (int n = atoi(what); n; n--)
		if (!opens())
			return 1;
	return 0;
}
