/* SPDX-License-Identifier: MIT */
/* What handlers ask of a process, from /proc. */
#define _GNU_SOURCE
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "facts.h"
#include "proc.h"

/* Where it stands, as proc(5) counts the fields. */
enum source { STAT, STATM, REAL_ID, EFFECTIVE_ID, TICKS, PAIR, NAME, LOAD };

static const struct {
	uint8_t from, field;
	const char *key;
} places[TL_FACTS] = {
	[TL_FACT_PPID] = {STAT, 4, NULL},
	[TL_FACT_PGRP] = {STAT, 5, NULL},
	[TL_FACT_SID] = {STAT, 6, NULL},
	[TL_FACT_UID] = {REAL_ID, 0, "Uid"},
	[TL_FACT_EUID] = {EFFECTIVE_ID, 0, "Uid"},
	[TL_FACT_GID] = {REAL_ID, 0, "Gid"},
	[TL_FACT_EGID] = {EFFECTIVE_ID, 0, "Gid"},
	[TL_FACT_PARENTS_NAME] = {NAME, 4, NULL},
	[TL_FACT_NAME] = {NAME, 0, NULL},
	[TL_FACT_ARGS] = {PAIR, 48, NULL},
	[TL_FACT_VARS] = {PAIR, 50, NULL},
	[TL_FACT_SIZE] = {STATM, 1, NULL},
	[TL_FACT_RSS] = {STATM, 2, NULL},
	[TL_FACT_SHR] = {STATM, 3, NULL},
	[TL_FACT_TXT] = {STATM, 4, NULL},
	[TL_FACT_DATA] = {STATM, 6, NULL},
	[TL_FACT_UTIME] = {TICKS, 14, NULL},
	[TL_FACT_STIME] = {TICKS, 15, NULL},
	[TL_FACT_LOAD] = {LOAD, 0, NULL},
};

static bool from_stat(pid_t pid, pid_t tid, int field, uint64_t value[2])
{
	char path[64], text[PROC_TEXT], *at;

	snprintf(path, sizeof(path), tid ? "/proc/%d/task/%d/stat" : "/proc/%d/stat", pid, tid);
	if (proc_read(path, text, sizeof(text)) <= 0)
		return false;
	at = (char *)proc_stat_field(text, field);
	if (!at)
		return false;
	value[0] = strtoull(at, &at, 10);
	value[1] = strtoull(at, NULL, 10);
	return true;
}

static bool from_statm(pid_t pid, int field, uint64_t value[2])
{
	char text[256], *at = text;

	if (proc_read_of(pid, "statm", text, sizeof(text)) <= 0)
		return false;
	while (field--)
		value[0] = strtoull(at, &at, 10);
	return true;
}

static bool from_status(pid_t pid, const char *key, bool effective, uint64_t value[2])
{
	char text[PROC_TEXT], *end;
	const char *at;

	if (proc_read_of(pid, "status", text, sizeof(text)) <= 0 || !(at = proc_field(text, key)))
		return false;
	value[0] = strtoull(at, &end, 10);
	if (effective)
		value[0] = strtoull(end, NULL, 10);
	return true;
}

static bool name_of(pid_t pid, bool parent, uint64_t value[2])
{
	char name[2 * 16] = "";

	if (!from_stat(pid, 0, places[TL_FACT_PPID].field, value))
		return false; /* there is none */
	proc_name(parent ? (pid_t)value[0] : pid, name, sizeof(name));
	memcpy(value, name, 16);
	return true;
}

/* "0.52 1.07 0.98 ..." */
static bool load(uint64_t value[2])
{
	unsigned whole[3], part[3];
	char text[128];

	if (proc_read("/proc/loadavg", text, sizeof(text)) <= 0 ||
		sscanf(text, "%u.%2u %u.%2u %u.%2u", &whole[0], &part[0], &whole[1], &part[1],
			&whole[2], &part[2]) != 6)
		return false;
	value[0] = (whole[0] * 100 + part[0]) | (uint64_t)(whole[1] * 100 + part[1]) << 32;
	value[1] = whole[2] * 100 + part[2];
	return true;
}

bool proc_fact(pid_t pid, pid_t tid, enum tl_fact what, uint64_t value[2])
{
	int field;

	if (what >= TL_FACTS || pid <= 0)
		return false;
	field = places[what].field;
	switch (places[what].from) {
	case STAT:
		return from_stat(pid, 0, field, value);
	case STATM:
		return from_statm(pid, field, value);
	case REAL_ID:
	case EFFECTIVE_ID:
		return from_status(pid, places[what].key, places[what].from == EFFECTIVE_ID, value);
	case NAME:
		return name_of(pid, field != 0, value);
	case LOAD:
		return load(value);
	case PAIR:
		return tid && from_stat(pid, tid, field, value);
	case TICKS:
		if (!from_stat(pid, tid, field, value))
			return false;
		value[0] *= 1000000000u / (uint64_t)sysconf(_SC_CLK_TCK);
		return true;
	}
	return false;
}
