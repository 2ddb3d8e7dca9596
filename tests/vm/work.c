/* SPDX-License-Identifier: MIT */
/* work N: opens a file N times. */
#include <fcntl.h>
#include <stdlib.h>
#include <sys/syscall.h>
#include <unistd.h>

int main(int argc, char **argv)
{
	for (int n = argc > 1 ? atoi(argv[1]) : 0; n; n--) {
		int fd = (int)syscall(SYS_openat, AT_FDCWD, "/init", O_RDONLY);

		if (fd < 0)
			return 1;
		close(fd);
	}
	return 0;
}
