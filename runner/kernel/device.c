/* SPDX-License-Identifier: MIT */
/* Where trapless.ko is reached, which is loaded for it. */
#define _GNU_SOURCE
#include "device.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "../../kmod/device.h"

static bool is_absent(int fd)
{
	return fd < 0 && (errno == ENOENT || errno == ENXIO || errno == ENODEV);
}

/* Where make install-kmod and dkms, or somebody else, have put it. */
static void load_installed(void)
{
	pid_t pid = fork();

	if (!pid) {
		execlp("modprobe", "modprobe", "-q", "trapless", NULL);
		_exit(1);
	}
	if (pid > 0)
		waitpid(pid, NULL, 0);
}

static void tell_absent(char *why, size_t room)
{
	switch (errno) {
	case ENOENT:
	case ENXIO:
	case ENODEV:
		snprintf(why, room,
			"this is done in the kernel, and " TL_DEVICE_PATH
			" is not there: load trapless.ko for this kernel (modprobe trapless, as "
			"root). It is not installed? make install-kmod, then dkms install, or make "
			"kmod and insmod");
		break;
	case EACCES:
	case EPERM:
		snprintf(why, room,
			"scripts for the kernel, and its coverage, need root, with "
			"CAP_SYS_MODULE: " TL_DEVICE_PATH " does not let us in");
		break;
	default:
		snprintf(why, room, TL_DEVICE_PATH ": %s", strerror(errno));
	}
}

int kernel_device(char *why, size_t room)
{
	int fd = open(TL_DEVICE_PATH, O_RDWR | O_CLOEXEC);

	if (is_absent(fd) && !geteuid()) {
		load_installed();
		fd = open(TL_DEVICE_PATH, O_RDWR | O_CLOEXEC);
	}
	if (fd < 0)
		tell_absent(why, room);
	return fd;
}
