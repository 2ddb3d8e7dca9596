/* SPDX-License-Identifier: MIT */
/*
 * Programs that no LD_PRELOAD reaches, refused before anything is started:
 * without a dynamic loader, of another word size, or run with other rights
 * than ours (the loader ignores us there).
 */
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "preload.h"
#include "../program.h"
#include "../machine/machine.h"
#include "../base/word.h"

enum { HEAD = 4096, SCRIPTS_MAX = 4 };

struct head {
	ssize_t size;
	union {
		char text[HEAD];
		Elf_Ehdr elf;
	};
};

static int no(char *why, size_t room, const char *path, const char *what, const char *next)
{
	snprintf(why, room, "--preload cannot enter %s: %s; %s", path, what, next);
	return -1;
}

static const char other_way[] =
	"leave --preload away where ptrace is allowed, or link libtrapless into it";

static bool read_head(const char *path, struct head *h)
{
	int fd = open(path, O_RDONLY | O_CLOEXEC);

	h->size = fd < 0 ? -1 : pread(fd, h->text, sizeof(h->text) - 1, 0);
	if (fd >= 0)
		close(fd);
	if (h->size >= 0)
		h->text[h->size] = 0;
	return h->size > 0;
}

static bool has_loader(const char *path, const Elf_Ehdr *e)
{
	int fd = open(path, O_RDONLY | O_CLOEXEC), i;
	Elf_Phdr ph;
	bool found = false;

	for (i = 0; fd >= 0 && i < e->e_phnum && !found; i++)
		found = pread(fd, &ph, sizeof(ph),
				(off_t)(e->e_phoff + (uint64_t)i * sizeof(ph))) == sizeof(ph) &&
			ph.p_type == PT_INTERP;
	if (fd >= 0)
		close(fd);
	return found;
}

static int check_elf(const char *path, const struct head *h, char *why, size_t room)
{
	char what[64];

	if (h->size < (ssize_t)sizeof(h->elf) || !word_is_elf(h->elf.e_ident))
		return 0; /* the exec will tell */
	if (!word_is_ours(h->elf.e_ident) || h->elf.e_machine != machine.elf) {
		snprintf(what, sizeof(what), "it is no %s program", machine.name);
		return no(why, room, path, what, "there is no agent for its architecture");
	}
	if (!has_loader(path, &h->elf))
		return no(why, room, path, "it is linked statically and has no dynamic loader",
			other_way);
	if (program_gains_rights(path)) /* AT_SECURE: the loader trusts no environment */
		return no(why, room, path,
			"it runs with other rights than yours (setuid, setgid or file "
			"capabilities), and its loader ignores LD_PRELOAD",
			"run it as the user whose rights it has");
	return 0;
}

/* A script's program is its interpreter. */
static bool interpreter(struct head *h, char *buf, size_t room)
{
	char *at = h->text + 2;

	if (h->size < 3 || h->text[0] != '#' || h->text[1] != '!')
		return false;
	at += strspn(at, " \t");
	at[strcspn(at, " \t\n")] = 0;
	snprintf(buf, room, "%s", at);
	return *at == '/';
}

static int check_file(const char *path, char *why, size_t room)
{
	char next[512];
	struct head h;
	int i;

	snprintf(next, sizeof(next), "%s", path);
	for (i = 0; i < SCRIPTS_MAX && read_head(next, &h); i++) {
		if (!interpreter(&h, next, sizeof(next)))
			return check_elf(next, &h, why, room);
	}
	return 0;
}

static int check_point(
	const struct tl_tap *mod, const struct tl_tap_probe *p, char *why, size_t room)
{
	if (p->kind < TL_TAP_PROCESS_BEGIN)
		return 0;
	if (p->kind == TL_TAP_WATCH) {
		snprintf(why, room,
			"%s cannot be watched under --preload: only a tracer may set the "
			"processor's debug registers; leave --preload away where ptrace is "
			"allowed, or probe the functions that use it",
			tl_tap_string(mod, p->point));
		return -1;
	}
	snprintf(why, room,
		"%s cannot be seen under --preload: only a tracer %s; leave --preload away where "
		"ptrace is allowed, or probe the functions that %s",
		tl_tap_string(mod, p->point),
		p->kind == TL_TAP_PROFILE ? "may look where threads are"
					  : "is told when threads come and go",
		p->kind == TL_TAP_PROFILE ? "may take the time" : "start and end them");
	return -1;
}

int preload_check(const struct tl_tap *mod, const struct options *o, char *why, size_t room)
{
	char path[512];
	uint32_t i;

	if (access("/proc/self/fd", X_OK)) {
		snprintf(why, room,
			"--preload needs /proc, through which the program finds the agent: mount "
			"it, or leave --preload away where ptrace is allowed");
		return -1;
	}
	for (i = 0; i < mod->nprobes; i++) {
		if (check_point(mod, &mod->probes[i], why, room))
			return -1;
	}
	for (i = 0; i < mod->nimages; i++) {
		if (mod->images[i].flags & TL_TAP_IMAGE_PROGRAM &&
			check_file(tl_tap_string(mod, mod->images[i].path), why, room))
			return -1;
	}
	return program_of(o, path, sizeof(path)) ? check_file(path, why, room) : 0;
}
