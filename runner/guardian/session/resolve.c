/* SPDX-License-Identifier: MIT */
/* The module's images among those that are mapped, and its probes in them. */
#define _GNU_SOURCE
#include <inttypes.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include <trapless/error.h>

#include "../../../home/fill.h"
#include "../../base/slots.h"
#include "../guardian.h"
#include "../trace/images.h"
#include "../trace/remote.h"
#include "../trace/say.h"
#include "../trace/threads.h"
#include "copies.h"
#include "loader.h"
#include "resolve.h"

static uint64_t file_size(struct guardian *g, const struct mapped *m)
{
	char path[128];
	struct stat st;

	snprintf(path, sizeof(path), "/proc/%d/map_files/%" PRIx64 "-%" PRIx64, eye_of(g), m->lo,
		m->hi);
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

static enum match match_one(struct guardian *g, const struct tl_tap *mod,
	const struct tl_tap_image *want, const struct mapped *m)
{
	bool same_name = !strcmp(base_name(tl_tap_string(mod, want->path)), base_name(m->path));

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

/* Where one of the module's images is: it may be mapped more than once. */
struct found {
	/* The one that was described before comes first */
	const struct mapped *at[SLOT_COPIES + 1];
	uint32_t n, more; /* more: copies beyond these */
	bool other;
};

static void find_image(struct guardian *g, const struct client *c, uint32_t image, struct found *f)
{
	const struct tl_symbol_image *before = &c->tell.images[image];
	const struct mapped *m;
	size_t n;

	memset(f, 0, sizeof(*f));
	for (m = images_found(&n); n; n--, m++) {
		enum match how = match_one(g, c->mod, &c->mod->images[image], m);

		f->other |= how == MATCH_OTHER;
		if (how != MATCH_YES)
			continue;
		if (f->n > SLOT_COPIES) {
			f->more++;
			continue;
		}
		f->at[f->n++] = m;
		if (m->base == before->lo && m->bias == before->bias) {
			f->at[f->n - 1] = f->at[0];
			f->at[0] = m;
		}
	}
}

static const struct mapped *first_of(const struct found *f)
{
	return f->n ? f->at[0] : NULL;
}

static const struct mapped *match_image(struct guardian *g, const struct client *c, uint32_t image)
{
	struct found f;

	find_image(g, c, image, &f);
	return first_of(&f);
}

bool image_bias(struct guardian *g, const struct client *c, uint32_t image, uint64_t *bias)
{
	const struct mapped *m = match_image(g, c, image);

	*bias = m ? m->bias : 0;
	return m;
}

bool image_is_there(struct guardian *g, const struct client *c, uint32_t image)
{
	return match_image(g, c, image);
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
static bool is_wanted(struct guardian *g, const struct tl_tap *mod, const struct tl_tap_image *want)
{
	const char *path = tl_tap_string(mod, want->path);
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

static bool is_probed(const struct tl_tap *mod, uint32_t image)
{
	uint32_t i;

	for (i = 0; i < mod->nprobes; i++)
		if (mod->probes[i].image == image || mod->probes[i].process == image)
			return true;
	return false;
}

static int describe_row(
	struct guardian *g, struct client *c, uint32_t row, uint32_t image, const struct mapped *m)
{
	struct tl_symbol_image out = {.path = c->mod->images[image].path, .image = image};

	if (m) {
		out.bias = m->bias;
		out.lo = m->base;
		out.hi = m->hi > m->end ? m->hi : m->end;
	}
	if (m || row >= c->mod->nimages)
		c->tell.images[row] = out;
	return target_write(g, g->pid, c->symbol_images + row * sizeof(out), &out, sizeof(out));
}

/*
 * For names of addresses, for callers and for variables: what is asked for and not mapped yet is waited for. A file
 * without probes is there for its variables.
 */
static int describe_images(struct guardian *g, struct client *c, const struct found *found)
{
	bool asked = c->mod->nsymbols || c->mod->nlines || c->mod->nunwind;
	uint32_t i, k, row = c->mod->nimages, end = (uint32_t)tl_symbol_rows(row);

	for (i = 0; i < c->mod->nimages; i++) {
		if (describe_row(g, c, i, i, first_of(&found[i])))
			return -1;
		for (k = 1; k < found[i].n && row < end; k++, row++)
			if (describe_row(g, c, row, i, found[i].at[k]))
				return -1;
		c->pending += !found[i].n && (asked || !is_probed(c->mod, i));
	}
	for (; row < end && c->tell.images[row].hi; row++)
		if (describe_row(g, c, row, 0, NULL))
			return -1;
	return 0;
}

/* --- probes -------------------------------------------------------------------------------- */

/* One look at all of a session's probes. final: the loader has done its work. */
struct look {
	struct guardian *g;
	struct client *c;
	const struct found *found; /* by image */
	bool final;
	uint32_t news;
};

static const struct mapped *image_with(
	const struct look *l, const struct tl_tap_probe *from, const struct tl_ctl_probe *p)
{
	const struct found *f = &l->found[from->image];
	uint32_t k;

	for (k = 0; k < f->n; k++)
		if (p->addr == from->addr + f->at[k]->bias)
			return f->at[k];
	return NULL;
}

/* An object that was closed has taken along what stood in it. */
static void forget_gone(struct look *l, uint32_t probe)
{
	uint32_t s = probe;

	do {
		struct tl_ctl_probe *p = tl_ctl_probe(l->c->ctl, s);

		if (p->addr && !image_with(l, &l->c->mod->probes[probe], p)) {
			tl_ctl_unplace(p);
			l->g->ctl->images_stale = 1;
			l->news++;
		}
	} while ((s = slot_next(l->c, s)));
}

/* Of the probe that one that stands at addr: true. Else a free one, or `none`. */
static bool slot_at(
	const struct look *l, uint32_t probe, uint64_t addr, uint32_t *slot, uint32_t none)
{
	uint32_t s = probe;

	*slot = none;
	do {
		const struct tl_ctl_probe *p = tl_ctl_probe(l->c->ctl, s);

		if (p->addr == addr) {
			*slot = s;
			return true;
		}
		if (!p->addr && *slot == none)
			*slot = s;
	} while ((s = slot_next(l->c, s)));
	return false;
}

/* first: where there are several, which of them. The program's own C library stays; one in another namespace may go. */
static void may_change(struct client *c, const struct mapped *m, bool first)
{
	c->closable |=
		!m->program && !m->loader && !(first && !strncmp(base_name(m->path), "libc.", 5));
}

/* A mark's semaphore may be there later than its text. */
static void await_semaphore(struct look *l, const struct tl_tap_probe *from, struct tl_ctl_probe *p,
	const struct mapped *m)
{
	uint64_t semaphore = tl_ctl_semaphore(from, m->bias);

	if (!semaphore || p->semaphore == semaphore || p->result)
		return;
	if (image_is_ready(m, semaphore, l->final || !l->g->mapping)) {
		p->semaphore = semaphore;
		l->news++;
		return;
	}
	l->c->deaf++;
	l->c->pending += !l->final;
}

/* The probe in one of the copies of its image. */
static void place_in(struct look *l, uint32_t probe, const struct mapped *m)
{
	const struct tl_tap_probe *from = &l->c->mod->probes[probe];
	const uint32_t none = TL_NONE;
	uint32_t slot;

	if (!slot_at(l, probe, from->addr + m->bias, &slot, none)) {
		if (!m->eh_there || !(l->final || image_is_whole(m))) {
			l->c->pending++;
			return;
		}
		if (slot == none && !(slot = slot_add(l->c, probe))) {
			l->c->crowded++;
			return;
		}
		slot_place(l->c, slot, probe, m->bias);
		may_change(l->c, m, slot == probe);
		l->news++;
	}
	await_semaphore(l, from, tl_ctl_probe(l->c->ctl, slot), m);
}

static void resolve(struct look *l, uint32_t probe)
{
	const struct tl_tap_probe *from = &l->c->mod->probes[probe];
	const struct found *program = from->process == TL_NONE ? NULL : &l->found[from->process];
	const struct found *f = &l->found[from->image];
	struct tl_ctl_probe *p = tl_ctl_probe(l->c->ctl, probe);
	uint32_t k;

	if (!p->addr)
		p->result = 0;
	if (program && !program->n) {
		if (program->other && !p->addr)
			p->result = -TL_E_BUILD_ID;
		l->c->pending += !program->other && !l->final;
		return;
	}
	for (k = 0; k < f->n; k++)
		place_in(l, probe, f->at[k]);
	l->c->crowded += f->more;
	if (f->n)
		return;
	if (f->other) {
		p->result = -TL_E_BUILD_ID;
		l->c->closable = true; /* and the right one may come; or it was read as it went */
	} else {
		l->c->pending++;
	}
}

/* A watched variable: its place is looked up in watchpoints.c. */
static void await(struct look *l, const struct tl_tap_probe *from)
{
	const struct mapped *m;

	if (from->image == TL_NONE)
		return;
	m = first_of(&l->found[from->image]);
	l->c->pending += !m;
	if (m)
		may_change(l->c, m, true);
}

static void resolve_all(struct look *l)
{
	const struct tl_tap_probe *from = l->c->mod->probes;
	uint32_t i;

	for (i = 0; i < l->c->mod->nprobes; i++, from++) {
		if (from->kind == TL_TAP_WATCH)
			await(l, from);
		if (!tl_tap_stands(from->kind))
			continue;
		forget_gone(l, i);
		if (!(from->flags & TL_TAP_PROBE_NEVER))
			resolve(l, i);
	}
}

/* What is passed over for now, and maybe for good: where it has become more. */
static void tell_passed_over(struct client *c)
{
	char text[400];

	if (c->crowded > c->told_crowded) {
		snprintf(text, sizeof(text),
			"%u probes in further copies of mapped libraries are left out, and their "
			"hits not counted: of one library "
			"%u copies are probed, and of all together %llu probes; next: name fewer "
			"functions, or use a session for "
			"each library",
			c->crowded, SLOT_COPIES + 1,
			(unsigned long long)(probe_slots(c->mod) - c->mod->nprobes));
		tell(&c->tell, MSG_WARN, 0, text);
		c->told_crowded = c->crowded;
	}
	if (c->deaf > c->told_deaf) {
		snprintf(text, sizeof(text),
			"%u mark%s with a semaphore that lies in no memory that can be written: "
			"the program does not learn that "
			"somebody listens, and may pass by; next: look at /proc/PID/maps whether "
			"it has protected its data",
			c->deaf, c->deaf > 1 ? "s" : "");
		tell(&c->tell, MSG_WARN, 0, text);
		c->told_deaf = c->deaf;
	}
}

/*
 * Addresses for all probes whose image is mapped now, in each of its copies. final: what is missing
 * is refused. Returns how many became known or are gone, or -1.
 */
int probes_resolve(struct guardian *g, struct client *c, bool final)
{
	struct found *found = calloc(c->mod->nimages + 1, sizeof(*found));
	struct look l = {g, c, found, final, 0};
	uint32_t i;
	int ret;

	if (!found)
		return guardian_fail(g, "out of memory");
	loader_rests(g);
	c->pending = c->deaf = c->crowded = 0;
	ret = images_read(g);
	for (i = 0; i < c->mod->nimages && !ret; i++)
		find_image(g, c, i, &found[i]);
	if (ret || describe_images(g, c, found))
		ret = guardian_fail(g, "cannot read the mappings of process %d", g->pid);
	else
		resolve_all(&l);
	c->pending += g->audited && !final;
	if (!ret && final)
		tell_passed_over(c);
	free(found);
	return ret ? ret : (int)l.news;
}
