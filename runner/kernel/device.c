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

static bool file_has(const char *path, const char *word)
{
	char text[100] = "";
	int fd = open(path, O_RDONLY | O_CLOEXEC);
	ssize_t n = fd < 0 ? 0 : read(fd, text, sizeof(text) - 1);

	if (fd >= 0)
		close(fd);
	return n > 0 && strstr(text, word);
}

/* What keeps a module out that nobody has signed; NULL: nothing that is known. */
static const char *who_asks_for_signatures(void)
{
	if (file_has("/sys/kernel/security/lockdown", "[integrity]") ||
		file_has("/sys/kernel/security/lockdown", "[confidentiality]"))
		return "lockdown";
	return file_has("/sys/module/module/parameters/sig_enforce", "Y") ? "module.sig_enforce"
									  : NULL;
}

static void tell_absent(char *why, size_t room)
{
	const char *asks = who_asks_for_signatures();

	if (asks)
		snprintf(why, room,
			"this is done in the kernel, and " TL_DEVICE_PATH
			" is not there. This kernel takes signed modules only (%s): sign "
			"trapless.ko with a key that it knows (dkms does, when mokutil --import "
			"has made its own one known), then modprobe trapless",
			asks);
	else
		snprintf(why, room,
			"this is done in the kernel, and " TL_DEVICE_PATH
			" is not there: load trapless.ko for this kernel (modprobe trapless, as "
			"root). It is not installed? make install-kmod, then dkms install, or make "
			"kmod and insmod");
}

static void tell_closed(char *why, size_t room)
{
	switch (errno) {
	case ENOENT:
	case ENXIO:
	case ENODEV:
		tell_absent(why, room);
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
		tell_closed(why, room);
	return fd;
}
