/* SPDX-License-Identifier: MIT */
#define _GNU_SOURCE
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/xattr.h>
#include <unistd.h>

#include "program.h"
#include "words.h"
#include "machine/machine.h"
#include "base/word.h"

static bool find(const char *name, char *buf, size_t room)
{
	const char *path = getenv("PATH"), *end;

	if (strchr(name, '/'))
		return snprintf(buf, room, "%s", name) < (int)room;
	for (path = path ? path : "/bin:/usr/bin"; *path; path = *end ? end + 1 : end) {
		end = strchrnul(path, ':');
		if (snprintf(buf, room, "%.*s/%s", (int)(end - path), path, name) < (int)room &&
			!access(buf, X_OK))
			return true;
	}
	return false;
}

bool program_of(const struct options *o, char *buf, size_t room)
{
	char **argv = o->words ? o->words : words_split(o->command);
	bool found = find(argv ? argv[0] : "/bin/sh", buf, room);

	if (argv != o->words)
		free(argv);
	return found;
}

bool program_is_foreign(const char *path)
{
	FILE *f = fopen(path, "re");
	Elf_Ehdr h;
	bool elf = f && fread(&h, sizeof(h), 1, f) == 1 && word_is_elf(h.e_ident);

	if (f)
		fclose(f);
	return elf && !(word_is_ours(h.e_ident) && h.e_machine == machine.elf);
}

bool program_gains_rights(const char *path)
{
	struct stat st;

	if (stat(path, &st))
		return false;
	if (st.st_mode & S_ISUID && st.st_uid != geteuid())
		return true;
	if (st.st_mode & S_ISGID && st.st_mode & S_IXGRP && st.st_gid != getegid())
		return true;
	return geteuid() && getxattr(path, "security.capability", NULL, 0) > 0;
}
