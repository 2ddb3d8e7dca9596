/* SPDX-License-Identifier: MIT */
/* The module's images among those that are mapped, and its probes in them. */
#define _GNU_SOURCE
#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

#include <trapless/error.h>

#include "../../agent/fill.h"
#include "guardian.h"
#include "images.h"

static uint64_t file_size(struct guardian *g, const struct mapped *m)
{
	char path[128];
	struct stat st;

	snprintf(path, sizeof(path), "/proc/%d/map_files/%lx-%lx", eye_of(g), m->lo, m->hi);
	if (stat(path, &st) == 0 && st.st_ino == m->inode)
		return (uint64_t)st.st_size;
	snprintf(path, sizeof(path), "/proc/%d/exe",
		eye_of(g)); /* also where it has no name any more */
	if (stat(path, &st) == 0 && st.st_ino == m->inode)
		return (uint64_t)st.st_size;
	snprintf(path, sizeof(path), "/proc/%d/root", eye_of(g));
	if (strlen(m->path) < sizeof(path) - 40) {
		snprintf(path + strlen(path), sizeof(path) - strlen(path), "%.80s", m->path);
		if (stat(path, &st) == 0 && st.st_ino == m->inode)
			return (uint64_t)st.st_size;
	}
	return 0;
}

enum match { MATCH_NO, MATCH_OTHER, MATCH_YES }; /* OTHER: same name, another build */

static enum match match_one(struct guardian *g, const struct module *mod,
	const struct tl_tap_image *want, const struct mapped *m)
{
	bool same_name = !strcmp(base_name(module_string(mod, want->path)), base_name(m->path));

	if (m->vdso || !m->whole || !m->hi || m->hidden)
		return MATCH_NO;
	if (want->build_id_len) {
		if (m->build_id_len == want->build_id_len &&
			!memcmp(m->build_id, want->build_id, want->build_id_len))
			return MATCH_YES;
		return same_name ? MATCH_OTHER : MATCH_NO;
	}
	if (!same_name)
		return MATCH_NO;
	return !want->file_size || file_size(g, m) == want->file_size ? MATCH_YES : MATCH_OTHER;
}

static const struct mapped *match_image(
	struct guardian *g, const struct module *mod, uint32_t image, bool *other)
{
	const struct mapped *m;
	size_t n;

	*other = false;
	for (m = images_found(&n); n; n--, m++) {
		enum match how = match_one(g, mod, &mod->images[image], m);

		if (how == MATCH_YES)
			return m;
		*other |= how == MATCH_OTHER;
	}
	return NULL;
}

bool image_bias(struct guardian *g, const struct client *c, uint32_t image, uint64_t *bias)
{
	bool other;
	const struct mapped *m = match_image(g, c->mod, image, &other);

	*bias = m ? m->bias : 0;
	return m;
}

bool image_is_there(struct guardian *g, const struct client *c, uint32_t image)
{
	bool other;

	return match_image(g, c->mod, image, &other);
}

/* The script's program is there, too, and is another file: this one merely has its name. One that was replaced has its path. */
static bool is_namesake(struct guardian *g, const char *path, const struct mapped *m)
{
	char seen[PATH_MAX + 32];
	struct stat st;

	if (path[0] != '/' || !strcmp(path, m->path))
		return false;
	snprintf(seen, sizeof(seen), "/proc/%d/root%s", eye_of(g), path);
	return stat(seen, &st) == 0 && st.st_ino != m->inode;
}

/* Also of another build, which the user is to hear of. */
static bool is_wanted(struct guardian *g, const struct module *mod, const struct tl_tap_image *want)
{
	const char *path = module_string(mod, want->path);
	const struct mapped *m;
	size_t n;

	for (m = images_found(&n); n; n--, m++) {
		enum match how = match_one(g, mod, want, m);

		if (how == MATCH_YES || (how == MATCH_OTHER && !is_namesake(g, path, m)))
			return true;
	}
	return false;
}

/* Is this program one that the module has probes for? */
bool images_match(struct guardian *g, const struct client *c)
{
	bool programs = false;
	uint32_t i;

	if (c->mod->header->flags & TL_TAP_HIERARCHY && (g->fresh || g->armed))
		return true; /* what the target has started */
	if (images_find(g))
		return false;
	for (i = 0; i < c->mod->nimages; i++) {
		if (!(c->mod->images[i].flags & TL_TAP_IMAGE_PROGRAM))
			continue;
		programs = true;
		if (is_wanted(g, c->mod, &c->mod->images[i]))
			return true;
	}
	return !programs;
}

static bool is_probed(const struct module *mod, uint32_t image)
{
	uint32_t i;

	for (i = 0; i < mod->nprobes; i++)
		if (mod->probes[i].image == image || mod->probes[i].process == image)
			return true;
	return false;
}

/*
 * For names of addresses, for callers and for variables: what is asked for and not mapped yet is waited for. A file
 * without probes is there for its variables.
 */
static int describe_images(struct guardian *g, struct client *c)
{
	bool asked = c->mod->nsymbols || c->mod->nlines || c->mod->nunwind;
	struct tl_symbol_image out;
	uint32_t i;
	bool other;

	for (i = 0; i < c->mod->nimages; i++) {
		const struct mapped *m = match_image(g, c->mod, i, &other);

		memset(&out, 0, sizeof(out));
		out.path = c->mod->images[i].path;
		if (m) {
			out.bias = m->bias;
			out.lo = m->base;
			out.hi = m->hi > m->end ? m->hi : m->end;
		}
		if (target_write(g, g->pid, c->symbol_images + i * sizeof(out), &out, sizeof(out)))
			return -1;
		if (m)
			c->tell.images[i] = out;
		c->pending += !m && (asked || !is_probed(c->mod, i));
	}
	return 0;
}

/* --- probes -------------------------------------------------------------------------------- */

/* An object that was closed has taken it along. */
static bool is_gone(struct guardian *g, const struct client *c, const struct tl_tap_probe *from,
	const struct tl_ctl_probe *p)
{
	const struct mapped *m;
	bool other;

	if (!p->addr)
		return false;
	m = match_image(g, c->mod, from->image, &other);
	return !m || p->addr != from->addr + m->bias;
}

static bool may_be_closed(const struct mapped *m)
{
	return !m->program && !m->loader && strncmp(base_name(m->path), "libc.", 5) != 0;
}

/* true: it has become known where it is. */
static bool resolve(struct guardian *g, struct client *c, const struct tl_tap_probe *from,
	struct tl_ctl_probe *p, bool final)
{
	const struct mapped *m, *program = NULL;
	bool other = false;

	p->result = 0;
	if (from->process != TL_NONE &&
		!(program = match_image(g, c->mod, from->process, &other))) {
		if (other)
			p->result = -TL_E_BUILD_ID;
		c->pending += !other && !final;
		return false;
	}
	m = from->process == from->image ? program : match_image(g, c->mod, from->image, &other);
	if (!m && other) {
		p->result = -TL_E_BUILD_ID;
		c->closable = true; /* and the right one may come; or it was read as it went */
		return false;
	}
	if (!m || !m->eh_there) {
		c->pending++;
		return false;
	}
	tl_ctl_place(p, tl_ctl_parts(c->ctl, c->mod->nprobes), from, c->mod->parts, m->bias);
	c->closable |= may_be_closed(m);
	return true;
}

/* A watched variable: its place is looked up in watchpoints.c. */
static void await(struct guardian *g, struct client *c, const struct tl_tap_probe *from)
{
	const struct mapped *m;
	bool other;

	if (from->image == TL_NONE)
		return;
	m = match_image(g, c->mod, from->image, &other);
	c->pending += !m;
	c->closable |= m && may_be_closed(m);
}

/*
 * Addresses for all probes whose image is mapped now. final: what is missing
 * is refused. Returns how many became known or are gone, or -1.
 */
int probes_resolve(struct guardian *g, struct client *c, bool final)
{
	struct tl_ctl_probe *p = tl_ctl_probe(c->ctl, 0);
	uint32_t i, news = 0;

	loader_rests(g);
	c->pending = 0;
	if (images_read(g) || describe_images(g, c))
		return guardian_fail(g, "cannot read the mappings of process %d", g->pid);
	for (i = 0; i < c->mod->nprobes; i++, p++) {
		const struct tl_tap_probe *from = &c->mod->probes[i];

		if (is_gone(g, c, from, p)) {
			tl_ctl_unplace(p);
			g->ctl->images_stale = 1;
			news++;
		}
		if (from->kind == TL_TAP_WATCH)
			await(g, c, from);
		if ((from->kind == TL_TAP_SITE || from->kind == TL_TAP_RETURN) && !p->addr &&
			(!p->result || p->result == -TL_E_BUILD_ID) &&
			!(from->flags & TL_TAP_PROBE_NEVER))
			news += resolve(g, c, from, p, final);
	}
	return (int)news;
}
