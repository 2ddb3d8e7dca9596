/* SPDX-License-Identifier: MIT */
#define _GNU_SOURCE
#include <dirent.h>
#include <errno.h>
#include <glob.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

#include "../base/joining.h"
#include "control.h"

enum { BASE = 80 };

static const char in_tmp[] = "/tmp/trapless-";

/* The directory of all of this user's sessions. */
static void own_base(char *buf, size_t room)
{
	const char *run = getenv("XDG_RUNTIME_DIR");
	struct stat st;

	if (!run || run[0] != '/' || stat(run, &st) || st.st_uid != geteuid() ||
		(size_t)snprintf(buf, room, "%s/trapless", run) >= room)
		snprintf(buf, room, "%s%u", in_tmp, (unsigned)geteuid());
}

/* Nobody but `uid` may have put anything there. */
static bool is_private(const char *dir, uid_t uid)
{
	struct stat st;

	return !lstat(dir, &st) && S_ISDIR(st.st_mode) && st.st_uid == uid && !(st.st_mode & 077);
}

static int fill(struct place *p, const char *base, pid_t pid)
{
	int n = snprintf(p->dir, sizeof(p->dir), "%s/%d", base, (int)pid);

	p->socket = (struct sockaddr_un){.sun_family = AF_UNIX};
	return n < (int)sizeof(p->dir) &&
			       snprintf(p->socket.sun_path, sizeof(p->socket.sun_path),
				       "%s/control", p->dir) < (int)sizeof(p->socket.sun_path)
		       ? 0
		       : -1;
}

static int make_private(const char *dir)
{
	if (mkdir(dir, 0700) && errno != EEXIST)
		return -1;
	errno = EPERM;
	return is_private(dir, geteuid()) ? 0 : -1;
}

void place_drop(const struct place *p)
{
	unlink(p->socket.sun_path);
	rmdir(p->dir);
}

int place_make(struct place *p, char *why, size_t room)
{
	char base[BASE];

	own_base(base, sizeof(base));
	fill(p, base, getpid());
	if (make_private(base)) {
		snprintf(why, room, "%s: %s", base, strerror(errno));
		return -1;
	}
	place_drop(p); /* of an earlier process of our number */
	if (make_private(p->dir)) {
		snprintf(why, room, "%s: %s", p->dir, strerror(errno));
		return -1;
	}
	return 0;
}

/* --- guardians -------------------------------------------------------------------- */

static int name_guardian(struct sockaddr_un *a, const char *base, pid_t target)
{
	*a = (struct sockaddr_un){.sun_family = AF_UNIX};
	return snprintf(a->sun_path, sizeof(a->sun_path), "%s/target-%d", base, (int)target) <
			       (int)sizeof(a->sun_path)
		       ? 0
		       : -1;
}

int place_of_guardian(struct sockaddr_un *a, pid_t target)
{
	char base[BASE];

	own_base(base, sizeof(base));
	return make_private(base) ? -1 : name_guardian(a, base, target);
}

/* Also where it lies when it was started without our environment. */
int places_of_guardian(struct sockaddr_un a[PLACES_MAX], pid_t target)
{
	char base[PLACES_MAX][BASE];
	int i, n = 0;

	own_base(base[0], BASE);
	snprintf(base[1], BASE, "/run/user/%u/trapless", (unsigned)geteuid());
	snprintf(base[2], BASE, "%s%u", in_tmp, (unsigned)geteuid());
	for (i = 0; i < PLACES_MAX; i++)
		n += is_private(base[i], geteuid()) && !name_guardian(&a[n], base[i], target);
	return n;
}

/* --- sessions --------------------------------------------------------------------- */

/* The sessions in one directory. */
static int each_in(
	const char *base, int (*fn)(void *arg, const struct place *p, pid_t pid), void *arg)
{
	struct dirent *e;
	struct place p;
	struct stat st;
	int ret = 0;
	DIR *d;

	if (lstat(base, &st) || !is_private(base, geteuid() ? geteuid() : st.st_uid))
		return 0;
	d = opendir(base);
	while (d && !ret && (e = readdir(d))) {
		char *end;
		long pid = strtol(e->d_name, &end, 10);

		if (pid > 0 && !*end && !fill(&p, base, (pid_t)pid))
			ret = fn(arg, &p, (pid_t)pid);
	}
	if (d)
		closedir(d);
	return ret;
}

/* Also where they lie when they were started without our environment; root asks everybody's. */
int places_each(int (*fn)(void *arg, const struct place *p, pid_t pid), void *arg)
{
	char base[BASE], who[16] = "*", pattern[BASE];
	glob_t found;
	int ret;

	if (geteuid())
		snprintf(who, sizeof(who), "%u", (unsigned)geteuid());
	own_base(base, sizeof(base));
	ret = each_in(base, fn, arg);
	snprintf(pattern, sizeof(pattern), "/run/user/%s/trapless", who);
	glob(pattern, 0, NULL, &found);
	snprintf(pattern, sizeof(pattern), "%s%s", in_tmp, who);
	glob(pattern, GLOB_APPEND, NULL, &found);
	for (size_t i = 0; i < found.gl_pathc && !ret; i++)
		if (strcmp(found.gl_pathv[i], base))
			ret = each_in(found.gl_pathv[i], fn, arg);
	globfree(&found);
	return ret;
}
