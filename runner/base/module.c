/* SPDX-License-Identifier: MIT */
/* Module files: read, and what is wrong with one in words. */
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <trapless/error.h>

#include "../machine/machine.h"
#include "module.h"
#include "passing.h"

static int no(int err, char *why, size_t room, const char *fmt, ...)
	__attribute__((format(printf, 4, 5)));
static int no(int err, char *why, size_t room, const char *fmt, ...)
{
	va_list ap;

	va_start(ap, fmt);
	vsnprintf(why, room, fmt, ap);
	va_end(ap);
	return -err;
}

static int read_whole(uint8_t **file, size_t *size, const char *path, char *why, size_t room)
{
	struct stat st;
	size_t got = 0;
	ssize_t n;
	int fd = open(path, O_RDONLY | O_CLOEXEC);

	passed_by_name(path);
	if (fd < 0 || fstat(fd, &st)) {
		int err = errno;

		if (fd >= 0)
			close(fd);
		return no(TL_E_BAD_MODULE, why, room, "cannot read module %s: %s", path,
			strerror(err));
	}
	if (!S_ISREG(st.st_mode) || st.st_size < (off_t)sizeof(struct tl_tap_header) ||
		st.st_size > TL_TAP_MAX) {
		close(fd);
		return no(TL_E_BAD_MODULE, why, room,
			"%s is not a trapless module (.tap): compile one with trapless -p4", path);
	}
	*size = (size_t)st.st_size;
	*file = malloc(*size + 1);
	while (*file && got < *size && (n = read(fd, *file + got, *size - got)) > 0)
		got += (size_t)n;
	close(fd);
	if (got != *size)
		return no(TL_E_BAD_MODULE, why, room, "cannot read module %s whole", path);
	return 0;
}

static int say_fault(
	enum tl_tap_fault fault, const struct tl_tap *m, const char *path, char *why, size_t room)
{
	const struct tl_tap_header *h = m->header;

	switch (fault) {
	case TL_TAP_GOOD:
		return 0;
	case TL_TAP_NO_MODULE:
		return no(TL_E_BAD_MODULE, why, room,
			"%s is not a trapless module (.tap): compile one with trapless -p4", path);
	case TL_TAP_OTHER_ORDER:
		return no(TL_E_BAD_MODULE, why, room,
			"module %s was made for another byte order: compile with the right -a",
			path);
	case TL_TAP_OTHER_VERSION:
		return no(TL_E_VERSION, why, room,
			"module %s has format version %u, this runner reads %u: "
			"compile the script again with the trapless of this release",
			path, h->version, TL_WIRE_VERSION);
	case TL_TAP_OTHER_MACHINE:
		return no(TL_E_BAD_ARCH, why, room,
			"module %s was made for another architecture (machine %u, %u bit): "
			"compile with -a %s",
			path, h->machine, h->word, machine.option);
	case TL_TAP_TRUNCATED:
		return no(TL_E_BAD_MODULE, why, room,
			"module %s is truncated (%zu bytes of %llu): copy it again, or "
			"compile the script again",
			path, m->size, (unsigned long long)h->size);
	case TL_TAP_BAD_SUM:
		return no(TL_E_BAD_MODULE, why, room,
			"module %s is damaged (check sum): copy it again, or compile the "
			"script again",
			path);
	case TL_TAP_BAD_TABLES:
		break;
	}
	return no(TL_E_BAD_MODULE, why, room,
		"module %s is damaged (its tables contradict each other): "
		"compile the script again",
		path);
}

int module_load(struct tl_tap *m, const char *path, char *why, size_t room)
{
	uint8_t *file = NULL;
	size_t size = 0;
	int ret = read_whole(&file, &size, path, why, room);

	if (!ret)
		ret = say_fault(tl_tap_check(m, file, size, machine.elf), m, path, why, room);
	if (!ret)
		return 0;
	free(file);
	memset(m, 0, sizeof(*m));
	return ret;
}

void module_unload(struct tl_tap *m)
{
	free((void *)(uintptr_t)m->file);
	memset(m, 0, sizeof(*m));
}

int module_place(const struct tl_tap *m, uint64_t at, uint8_t *buf, tl_tap_export_fn find,
	void *arg, char *why, size_t room)
{
	const char *name;
	int ret = tl_tap_place(m, at, buf, find, arg, &name);

	if (ret == -TL_E_NO_SYMBOL)
		return no(TL_E_NO_SYMBOL, why, room,
			"the module needs the runtime function %s, which this "
			"release does not have: compile the script again with the same "
			"release",
			name);
	if (ret && name)
		return no(TL_E_VERSION, why, room,
			"[VERSION] the module was made for another release (runtime %s): "
			"compile the script again with the trapless of this release",
			name + strlen(TL_TAP_ABI));
	if (ret)
		return no(TL_E_VERSION, why, room,
			"[VERSION] the module does not tell which runtime it was made for: "
			"compile the script again with the trapless of this release");
	return 0;
}
