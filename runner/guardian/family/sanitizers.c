/* SPDX-License-Identifier: MIT */
/* Where a sanitizer of the program's makes the process that will trace it: see selftrace.c. */
#define _GNU_SOURCE
#include <stdlib.h>
#include <string.h>

#include "../guardian.h"
#include "../inject/helper.h"
#include "../leave/journal.h"
#include "../trace/images.h"
#include "../trace/remote.h"
#include "sanitizers.h"

enum { FILE_MAX = 256 << 20 }; /* of a program that may have its sanitizer in it */

static const char *const sanitizers[] = {
	"libasan", "liblsan", "libtsan", "libhwasan", "libclang_rt"};
enum { SANITIZERS = sizeof(sanitizers) / sizeof(*sanitizers) };

static bool is_sanitizer(const struct mapped *m)
{
	size_t n;

	for (n = 0; n < SANITIZERS; n++)
		if (!strncmp(base_name(m->path), sanitizers[n], strlen(sanitizers[n])))
			return true;
	return false;
}

static bool libraries_come(const struct guardian *g)
{
	return g->launched && !g->started;
}

/* Among the libraries that it needs. */
static bool names_sanitizer(const uint8_t *file, size_t size)
{
	size_t n;

	for (n = 0; n < SANITIZERS; n++)
		if (memmem(file, size, sanitizers[n], strlen(sanitizers[n])))
			return true;
	return false;
}

static uint64_t clone_of(struct guardian *g, const struct mapped *m)
{
	size_t size = m->hi - m->base < FILE_MAX ? m->hi - m->base : FILE_MAX;
	uint8_t *file = malloc(size);
	const uint8_t *at;
	uint64_t found;

	if (!file)
		return 0;
	size = target_read(g, g->pid, m->base, file, size);
	journal_undo(g, m->base, file, size);
	at = code_find_bare_clone(file, file + size);
	found = at ? m->base + (uint64_t)(at - file) : 0;
	g->sanitizer_comes |= m->program && libraries_come(g) && names_sanitizer(file, size);
	free(file);
	return found;
}

static uint64_t find_clone(struct guardian *g)
{
	const struct mapped *m;
	uint64_t at = 0;
	size_t n;

	for (m = images_found(&n); n && !at; m++, n--) {
		if (m->hi && (is_sanitizer(m) || (m->program && !g->program_searched)))
			at = clone_of(g, m);
		g->program_searched |= m->hi && m->program;
	}
	return at;
}

bool sanitizers_wanted(const struct guardian *g)
{
	return g->sanitizer_comes && !g->ctl->watched_at[WATCHED_CLONE];
}

void sanitizers_watch(struct guardian *g)
{
	uint64_t *at = &g->ctl->watched_at[WATCHED_CLONE];

	if (*at)
		return;
	*at = find_clone(g);
	g->sanitizer_comes &= libraries_come(g);
	if (*at)
		helper_command(g, TL_CMD_WATCH);
}
