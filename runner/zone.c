/* SPDX-License-Identifier: MIT */
/*
 * Local time as C libraries of programs have it. Ours may read TZ another way: it takes EST5EDT for a text, not for
 * the file of that name, and a summer zone without a rule for one that never ends.
 */
#define _GNU_SOURCE
#include "zone.h"

#include <ctype.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#define ZONES "/usr/share/zoneinfo/"
#define RULE  ",M3.2.0,M11.1.0" /* where TZ has none: POSIX leaves it open, GNU's is this */

enum { TZ_MAX = 256 };

static const char *behind_name(const char *s)
{
	if (*s == '<') {
		s += strcspn(s, ">");
		return s + (*s == '>');
	}
	while (isalpha((unsigned char)*s))
		s++;
	return s;
}

static const char *behind_offset(const char *s)
{
	return s + strspn(s, "+-:0123456789");
}

/* STD offset DST, and nothing behind it that says when. */
static bool wants_rule(const char *tz)
{
	const char *std = behind_name(tz), *offset = behind_offset(std), *dst = behind_name(offset);

	return std != tz && offset != std && dst != offset && !strchr(dst, ',');
}

/* tz as our C library has to be told. */
static void spell(const char *tz, char *to, size_t room)
{
	char path[sizeof(ZONES) + TZ_MAX];

	snprintf(path, sizeof(path), ZONES "%s", tz);
	if (*tz && *tz != ':' && *tz != '/' && !access(path, R_OK))
		snprintf(to, room, ":%s", tz);
	else
		snprintf(to, room, "%s%s", tz, wants_rule(tz) ? RULE : "");
}

void zone_now(int64_t *offset, char name[8])
{
	const char *tz = getenv("TZ");
	char told[TZ_MAX] = "", ours[TZ_MAX + sizeof(RULE)];
	time_t now = time(NULL);
	struct tm tm;

	if (tz && strlen(tz) < sizeof(told)) {
		strcpy(told, tz);
		spell(told, ours, sizeof(ours));
		setenv("TZ", ours, 1);
	}
	tzset();
	if (localtime_r(&now, &tm)) {
		*offset = tm.tm_gmtoff;
		memcpy(name, tm.tm_zone, strnlen(tm.tm_zone, 8));
	}
	if (*told) /* whoever we start has it as it was */
		setenv("TZ", told, 1);
}
