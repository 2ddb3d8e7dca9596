/* SPDX-License-Identifier: MIT */
/* The target's mappings: /proc/PID/maps, read in one go for all who ask. */
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "../guardian.h"
#include "maps.h"
#include "threads.h"

static char *text;
static size_t text_room;
static struct mapping *list;
static size_t nlist, list_room;

const struct mapping *mappings(size_t *n)
{
	*n = nlist;
	return list;
}

/* The whole file as a string. */
static int read_text(pid_t pid)
{
	char path[64];
	size_t got = 0;
	ssize_t n = 0;
	int fd;

	snprintf(path, sizeof(path), "/proc/%d/maps", pid);
	fd = open(path, O_RDONLY | O_CLOEXEC);
	if (fd < 0)
		return -errno;
	do {
		got += (size_t)n;
		if (text_room - got < 4096) {
			char *more = realloc(text, text_room * 2 + 65536);

			if (!more)
				break;
			text = more;
			text_room = text_room * 2 + 65536;
		}
		n = read(fd, text + got, text_room - got - 1);
	} while (n > 0);
	close(fd);
	if (!text)
		return -ENOMEM;
	text[got] = 0;
	return 0;
}

static struct mapping *mapping_new(void)
{
	if (nlist == list_room) {
		size_t more = list_room ? list_room * 2 : 256;
		void *p = realloc(list, more * sizeof(*list));

		if (!p)
			return NULL;
		list = p;
		list_room = more;
	}
	return &list[nlist++];
}

static int prot_of(const char *perms)
{
	return (perms[0] == 'r' ? PROT_READ : 0) | (perms[1] == 'w' ? PROT_WRITE : 0) |
	       (perms[2] == 'x' ? PROT_EXEC : 0);
}

/* What the kernel says behind the name of a file that is gone or was replaced. */
static void cut_deleted(char *path)
{
	static const char said[] = " (deleted)";
	size_t n = strlen(path);

	if (n >= sizeof(said) && !strcmp(path + n - (sizeof(said) - 1), said))
		path[n - (sizeof(said) - 1)] = 0;
}

/* A number and the character behind it. NULL: they are not there. */
static char *number(char *p, int base, char behind, uint64_t *value)
{
	char *end = p;

	if (!p)
		return NULL;
	*value = strtoull(p, &end, base);
	return end != p && *end == behind ? end + 1 : NULL;
}

/* lo-hi perms offset major:minor inode, and a path behind many spaces. */
bool mapping_parse(char *line, struct mapping *m)
{
	uint64_t major, minor;
	char *p = number(number(line, 16, '-', &m->lo), 16, ' ', &m->hi), *perms = p;

	if (!p || strnlen(perms, 5) < 5)
		return false;
	p = number(
		number(number(perms + 5, 16, ' ', &m->offset), 16, ':', &major), 16, ' ', &minor);
	p = number(p, 10, ' ', &m->inode);
	if (!p)
		return false;
	m->dev = major << 32 | minor;
	m->prot = prot_of(perms);
	m->shared = perms[3] == 's';
	p += strspn(p, " ");
	cut_deleted(p);
	m->path = p;
	return true;
}

/* What the agent wants to know of them. */
static void into_control_block(struct guardian *g)
{
	uint32_t n = 0;
	size_t i;

	for (i = 0; i < nlist && n < TL_CTL_MAPS; i++) {
		if (list[i].lo >> 47) /* vsyscall */
			continue;
		g->ctl->maps[n].lo = list[i].lo;
		g->ctl->maps[n].hi = list[i].hi;
		g->ctl->maps[n++].prot = (uint32_t)list[i].prot;
	}
	g->ctl->nmaps = n;
}

int maps_look(struct guardian *g)
{
	int ret = read_text(eye_of(g));
	char *rest = text, *line;

	if (ret)
		return ret;
	nlist = 0;
	while ((line = strsep(&rest, "\n"))) {
		struct mapping *m = mapping_new();

		if (!m)
			return -ENOMEM;
		nlist -= !mapping_parse(line, m);
	}
	return 0;
}

int maps_read(struct guardian *g)
{
	int ret = maps_look(g);

	if (!ret)
		into_control_block(g);
	return ret;
}

/* By the last look. */
bool maps_have(uint64_t addr)
{
	size_t i;

	for (i = 0; i < nlist && addr - list[i].lo >= list[i].hi - list[i].lo; i++)
		;
	return i < nlist;
}

const struct tl_ctl_map *map_at(const struct guardian *g, uint64_t addr)
{
	const struct tl_ctl_map *maps = g->ctl->maps;
	uint32_t lo = 0, count = ctl_bounded(&g->ctl->nmaps, TL_CTL_MAPS), hi = count;

	while (lo < hi) {
		uint32_t mid = lo + (hi - lo) / 2;

		if (maps[mid].hi > addr)
			hi = mid;
		else
			lo = mid + 1;
	}
	return lo < count && maps[lo].lo <= addr ? &maps[lo] : NULL;
}

bool is_text(const struct mapping *m)
{
	return m->prot == (PROT_READ | PROT_EXEC) && m->inode && strncmp(m->path, "/memfd:", 7);
}
