/* SPDX-License-Identifier: MIT */
#define _GNU_SOURCE
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "../../engine/os/process/kernels.h"
#include "proc.h"

enum { STATE_FIELD = 3, CPU_FIELD = 39 }; /* of stat, as proc(5) counts */
enum { EXITING = 4, KERNEL_THREAD = 0x200000 }; /* PF_EXITING, PF_KTHREAD among the flags there */

ssize_t proc_read(const char *path, char *buf, size_t size)
{
	int fd = open(path, O_RDONLY | O_CLOEXEC);
	ssize_t n, got = 0;

	if (fd < 0)
		return -errno;
	while ((n = read(fd, buf + got, size - 1 - (size_t)got)) > 0)
		got += n;
	close(fd);
	buf[got] = 0;
	return got;
}

ssize_t proc_read_of(pid_t pid, const char *file, char *buf, size_t size)
{
	char path[64];

	snprintf(path, sizeof(path), "/proc/%d/%s", pid, file);
	return proc_read(path, buf, size);
}

uint64_t proc_aux(pid_t pid, uint64_t type)
{
	uint64_t pairs[64][2];
	ssize_t n = proc_read_of(pid, "auxv", (char *)pairs, sizeof(pairs)), i;

	for (i = 0; i < n / (ssize_t)sizeof(pairs[0]); i++) {
		if (pairs[i][0] == type)
			return pairs[i][1];
	}
	return 0;
}

const char *proc_field(const char *text, const char *field)
{
	size_t n = strlen(field);

	while (strncmp(text, field, n) || text[n] != ':') {
		text = strchr(text, '\n');
		if (!text)
			return NULL;
		text++;
	}
	return text + n + 1;
}

uint64_t proc_number(const char *text, const char *field, int base)
{
	const char *at = proc_field(text, field);

	return at ? strtoull(at, NULL, base) : 0;
}

int proc_status(pid_t pid, const char *field, int base, uint64_t *value)
{
	char text[PROC_TEXT];
	ssize_t got = proc_read_of(pid, "status", text, sizeof(text));

	if (got < 0)
		return (int)got;
	if (!proc_field(text, field))
		return -ENOENT;
	*value = proc_number(text, field, base);
	return 0;
}

uint64_t proc_ignored(const char *status)
{
	const uint64_t by_default = 1ull << (SIGCHLD - 1) | 1ull << (SIGCONT - 1) |
				    1ull << (SIGURG - 1) | 1ull << (SIGWINCH - 1);

	return proc_number(status, "SigIgn", 16) |
	       (by_default & ~proc_number(status, "SigCgt", 16));
}

/* The name before may hold anything. */
const char *proc_stat_field(const char *text, int field)
{
	const char *at = strrchr(text, ')');
	int i;

	for (i = STATE_FIELD - 1; i < field && at; i++)
		at = strchr(at + 1, ' ');
	return at && at[1] ? at + 1 : NULL;
}

char proc_state(pid_t pid)
{
	const char *at = NULL;
	char text[1024];

	if (proc_read_of(pid, "stat", text, sizeof(text)) > 0)
		at = proc_stat_field(text, STATE_FIELD);
	return at ? *at : 0;
}

bool proc_ended(pid_t pid)
{
	char state = proc_state(pid);

	return !state || state == 'Z' || state == 'X';
}

/* -1: not told. */
static long stat_number(pid_t pid, int field)
{
	const char *at = NULL;
	char text[1024];

	if (proc_read_of(pid, "stat", text, sizeof(text)) > 0)
		at = proc_stat_field(text, field);
	return at ? atol(at) : -1;
}

static bool has_flag(pid_t pid, long flag)
{
	long flags = stat_number(pid, TL_STAT_FLAGS);

	return flags > 0 && flags & flag;
}

bool proc_is_kernel_thread(pid_t pid)
{
	return has_flag(pid, KERNEL_THREAD);
}

bool proc_is_kernels(pid_t tid)
{
	const char *flags = NULL, *blocked = NULL;
	char text[1024];

	if (proc_read_of(tid, "stat", text, sizeof(text)) > 0) {
		flags = proc_stat_field(text, TL_STAT_FLAGS);
		blocked = proc_stat_field(text, TL_STAT_BLOCKED);
	}
	return flags && blocked &&
	       tl_is_kernels(strtoull(flags, NULL, 10), strtoull(blocked, NULL, 10));
}

static bool freezer_says(const char *folder, const char *group, const char *file, const char *state)
{
	char path[512], text[256];

	snprintf(path, sizeof(path), "/sys/fs/cgroup%s%s/%s", folder, group, file);
	return proc_read(path, text, sizeof(text)) > 0 && strstr(text, state);
}

/* `line`: of /proc/PID/cgroup, number:controllers:group; no controllers: version 2. */
static bool group_is_frozen(const char *line)
{
	char group[256];

	if (sscanf(line, "%*d:freezer:%255[^\n]", group) == 1)
		return freezer_says("/freezer", group, "freezer.state", "FR"); /* or FREEZING */
	if (sscanf(line, "0::%255[^\n]", group) != 1)
		return false;
	return freezer_says("", group, "cgroup.events", "frozen 1") ||
	       freezer_says("/unified", group, "cgroup.events", "frozen 1");
}

bool proc_is_frozen(pid_t pid)
{
	char text[4096], *line, *rest;

	if (proc_read_of(pid, "cgroup", text, sizeof(text)) <= 0)
		return false;
	for (line = strtok_r(text, "\n", &rest); line; line = strtok_r(NULL, "\n", &rest)) {
		if (group_is_frozen(line))
			return true;
	}
	return false;
}

/* Killed, a thread is so before it runs again. */
static bool thread_is_ending(pid_t tid)
{
	uint64_t pending = 0;

	if (proc_ended(tid))
		return true;
	proc_status(tid, "SigPnd", 16, &pending);
	return has_flag(tid, EXITING) || pending >> (SIGKILL - 1) & 1;
}

void proc_threads(pid_t pid, unsigned *living, unsigned *ending)
{
	char path[64];
	struct dirent *e;
	DIR *d;

	*living = *ending = 0;
	snprintf(path, sizeof(path), "/proc/%d/task", pid);
	d = opendir(path);
	while (d && (e = readdir(d))) {
		if (atoi(e->d_name) && !proc_is_kernels(atoi(e->d_name)))
			++*(thread_is_ending(atoi(e->d_name)) ? ending : living);
	}
	if (d)
		closedir(d);
}

int proc_cpu(pid_t pid)
{
	return (int)stat_number(pid, CPU_FIELD);
}

void proc_name(pid_t pid, char *buf, size_t size)
{
	if (proc_read_of(pid, "comm", buf, size) <= 0)
		snprintf(buf, size, "?");
	buf[strcspn(buf, "\n")] = 0;
}

void proc_program(pid_t pid, char *buf, size_t size)
{
	char path[64];
	ssize_t n;

	snprintf(path, sizeof(path), "/proc/%d/exe", pid);
	n = readlink(path, buf, size - 1);
	if (n < 0)
		proc_name(pid, buf, size);
	else
		buf[n] = 0;
}

uint32_t proc_own_number(pid_t pid)
{
	const char *at = NULL, *end;
	char text[PROC_TEXT];

	if (proc_read_of(pid, "status", text, sizeof(text)) > 0)
		at = proc_field(text, "NSpid");
	if (!at)
		return 0;
	end = strchr(at, '\n');
	while (end && end > at && end[-1] != '\t')
		end--;
	return end ? (uint32_t)strtoul(end, NULL, 10) : 0;
}

bool proc_is_nested(pid_t pid)
{
	char text[PROC_TEXT];
	const char *at = NULL;

	if (proc_read_of(pid, "status", text, sizeof(text)) > 0)
		at = proc_field(text, "NSpid");
	return at && strchr(at + 1, '\t') && strchr(at + 1, '\t') < strchr(at, '\n');
}

/* A number at the end of text, which is cut off before it. */
static bool last_number(char *text, uint64_t *value)
{
	char *at = strrchr(text, ' ');

	if (!at)
		return false;
	*value = strtoull(at, NULL, 16);
	*at = 0;
	return true;
}

bool proc_sleeps(pid_t pid, struct proc_sleep *where)
{
	char text[512];

	if (proc_read_of(pid, "syscall", text, sizeof(text)) <= 0 || !strncmp(text, "running", 7))
		return false;
	if (!last_number(text, &where->pc) || !last_number(text, &where->sp))
		return false;
	where->call = strtol(text, NULL, 10);
	return true;
}

uint32_t proc_max_maps(void)
{
	const uint32_t usual = 65530;
	char text[32];
	uint32_t n = 0;

	if (proc_read("/proc/sys/vm/max_map_count", text, sizeof(text)) > 0)
		n = (uint32_t)strtoul(text, NULL, 10);
	return n ? n : usual;
}
