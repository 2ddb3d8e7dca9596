/* SPDX-License-Identifier: MIT */
/* The target's dynamic loader: where it leaves the program to itself, and where it tells of its list. */
#define _GNU_SOURCE
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "../../base/proc.h"
#include "../../base/word.h"
#include "../guardian.h"
#include "../trace/images.h"
#include "../trace/loop.h"
#include "../trace/remote.h"
#include "../trace/threads.h"
#include "loader.h"

enum { PATIENCE_MS = 1000 };

/* Where the libc that this loader brings keeps a thread's id. 0: not known. */
uint32_t loader_tid_offset(void)
{
	const struct mapped *m;
	size_t n;

	for (m = images_found(&n); n; n--, m++) {
		if (m->loader)
			return strncmp(base_name(m->path), "ld-musl", 7) ? 0x2d0 : 0x30;
	}
	return 0;
}

/* Where the program itself begins, once the loader has done its work. 0: static, or unknown. */
uint64_t program_entry(struct guardian *g)
{
	return proc_aux(eye_of(g), AT_ENTRY);
}

/* The program's dynamic section; 0: it has none. */
static uint64_t dynamic_section(struct guardian *g)
{
	uint64_t at = proc_aux(eye_of(g), AT_PHDR), n = proc_aux(eye_of(g), AT_PHNUM), bias = 0, i;
	Elf_Phdr ph[64];

	n = n < 64 ? n : 64;
	if (!at || target_read(g, g->pid, at, ph, n * sizeof(*ph)) != n * sizeof(*ph))
		return 0;
	for (i = 0; i < n; i++) {
		if (ph[i].p_type == PT_PHDR)
			bias = at - ph[i].p_vaddr;
	}
	for (i = 0; i < n; i++) {
		if (ph[i].p_type == PT_DYNAMIC)
			return bias + ph[i].p_vaddr;
	}
	return 0;
}

/* What the program's dynamic section has under that tag. */
static bool dynamic_value(struct guardian *g, int64_t tag, uint64_t *value)
{
	uint64_t at = dynamic_section(g);
	Elf_Dyn d;
	int i;

	for (i = 0; at && i < 256; i++, at += sizeof(d)) {
		if (target_read(g, g->pid, at, &d, sizeof(d)) != sizeof(d) || d.d_tag == DT_NULL)
			return false;
		if (d.d_tag == tag) {
			*value = d.d_un.d_val;
			return true;
		}
	}
	return false;
}

/* The loader's, for debuggers; 0: none. */
static uint64_t debug_structure(struct guardian *g)
{
	struct r_debug debug;
	uint64_t at;

	return dynamic_value(g, DT_DEBUG, &at) && at &&
			       target_read(g, g->pid, at, &debug, sizeof(debug)) == sizeof(debug)
		       ? at
		       : 0;
}

static bool has_variable(pid_t pid, const char *name)
{
	size_t room = 0, n = strlen(name);
	char path[64], *var = NULL;
	bool has = false;
	FILE *f;

	snprintf(path, sizeof(path), "/proc/%d/environ", pid);
	f = fopen(path, "re");
	while (f && !has && getdelim(&var, &room, 0, f) > 0)
		has = !strncmp(var, name, n) && var[n] == '=';
	if (f)
		fclose(f);
	free(var);
	return has;
}

bool loader_audited(struct guardian *g)
{
	uint64_t value;

	return dynamic_value(g, DT_AUDIT, &value) || dynamic_value(g, DT_DEPAUDIT, &value) ||
	       has_variable(eye_of(g), "LD_AUDIT");
}

/* Where it tells of its list; 0: nowhere. */
uint64_t loader_state(struct guardian *g)
{
	struct r_debug debug;

	g->loader = debug_structure(g);
	if (g->loader && target_read(g, g->pid, g->loader, &debug, sizeof(debug)) == sizeof(debug))
		return debug.r_brk;
	return 0;
}

/* --- while it works, text comes and goes ------------------------------------------------------ */

/* Who is held in there goes on when we are done. */
static bool is_at_work(const struct guardian *g)
{
	struct r_debug debug;

	return g->loader && !g->at_dlopen && !g->main_held &&
	       target_read((struct guardian *)(uintptr_t)g, g->pid, g->loader, &debug,
		       sizeof(debug)) == sizeof(debug) &&
	       debug.r_state != RT_CONSISTENT;
}

void loader_rests(struct guardian *g)
{
	loop_while(g, is_at_work, PATIENCE_MS);
	if (is_at_work(g)) /* it is stopped in there, or does not mean it */
		g->loader = 0;
	if (g->at_dlopen || g->dl_missed)
		g->ctl->images_stale = 1;
}

void loader_go(struct guardian *g)
{
	struct thread *t = g->at_dlopen;

	g->at_dlopen = NULL;
	if (t)
		thread_release(g, t);
}
