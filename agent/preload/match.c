/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/* Which objects the module means, and where its probes stand in them. */
#include "internal.h"
#include "../../home/fill.h"
#include "../../home/symbols.h"
#include "../../engine/os/process/own.h"

enum match { MATCH_NO, MATCH_OTHER, MATCH_YES }; /* OTHER: same name, another build */

struct file {
	uint64_t dev, inode, before[4], size, rest[20];
};

static bool look_up(const char *path, struct file *st)
{
	return tl_syscall3(TL_NR_stat, (long)path, (long)st, 0) == 0;
}

static uint64_t file_size(const char *path)
{
	struct file st;

	return look_up(path, &st) ? st.size : 0;
}

static enum match match(
	const struct tl_preload *p, const struct tl_tap_image *want, const struct tl_object *o)
{
	const char *path = (const char *)tl_module_table(p, &p->module.strings) + want->path;
	bool same_name = tl_same(tl_base_name(path), tl_base_name(o->path));

	if (o->flags & (TL_IMAGE_VDSO | TL_IMAGE_SELF))
		return MATCH_NO;
	if (want->build_id_len) {
		if (o->build_id_len == want->build_id_len &&
			tl_equal(o->build_id, want->build_id, want->build_id_len))
			return MATCH_YES;
		return same_name ? MATCH_OTHER : MATCH_NO;
	}
	if (!same_name)
		return MATCH_NO;
	return !want->file_size || file_size(o->path) == want->file_size ? MATCH_YES : MATCH_OTHER;
}

/* --- is this process for us? -------------------------------------------------------- */

/* The script's program is there, too, and is another file: this one merely has its name. */
static bool is_namesake(const char *path, const struct tl_object *o)
{
	struct file wanted, here;

	return path[0] == '/' && !tl_same(path, o->path) && look_up(path, &wanted) &&
	       look_up(o->path, &here) && (wanted.inode != here.inode || wanted.dev != here.dev);
}

/* Also of another build, which the user is to hear of. */
static bool is_wanted(
	const struct tl_preload *p, const struct tl_tap_image *want, const struct tl_object *o)
{
	const char *path = (const char *)tl_module_table(p, &p->module.strings) + want->path;
	enum match how = match(p, want, o);

	return how == MATCH_YES || (how == MATCH_OTHER && !is_namesake(path, o));
}

static int any_program(void *arg, const struct tl_object *o)
{
	const struct tl_preload *p = arg;
	const struct tl_tap_image *want = tl_module_table(p, &p->module.images);
	uint64_t i;

	for (i = 0; i < p->module.images.count; i++) {
		if (want[i].flags & TL_TAP_IMAGE_PROGRAM && is_wanted(p, &want[i], o))
			return 1;
	}
	return 0;
}

/* A user-mode emulator is never meant: what it runs finds us in its turn. */
static int is_emulator(void *arg, const struct tl_object *o)
{
	(void)arg;
	return tl_equal(tl_base_name(o->path), "qemu-", 5)
		       ? 1
		       : -1; /* the first object is the program */
}

bool tl_preload_wants_us(const struct tl_preload *p)
{
	const struct tl_tap_image *want = tl_module_table(p, &p->module.images);
	bool programs = false;
	uint64_t i;

	for (i = 0; i < p->module.images.count; i++)
		programs |= want[i].flags & TL_TAP_IMAGE_PROGRAM;
	return programs ? tl_objects(any_program, (void *)p) == 1
			: tl_objects(is_emulator, NULL) != 1;
}

/* --- the module's images here ----------------------------------------------------------- */

struct look {
	const struct tl_preload *p;
	const struct tl_tap_image *want;
	struct tl_symbol_image *here;
	uint8_t seen[TL_CTL_IMAGES]; /* it is here now */
	uint8_t other[TL_CTL_IMAGES]; /* another build of it is here */
	bool copies; /* some are here more than once */
};

static int look_at(void *arg, const struct tl_object *o)
{
	struct look *l = arg;
	uint64_t i;

	for (i = 0; i < l->p->module.images.count; i++) {
		enum match how = match(l->p, &l->want[i], o);

		if (how == MATCH_OTHER && i < TL_CTL_IMAGES)
			l->other[i] = 1;
		l->copies |= how == MATCH_YES && i < TL_CTL_IMAGES && l->seen[i];
		if (how != MATCH_YES || (i < TL_CTL_IMAGES ? l->seen[i] : l->here[i].hi != 0))
			continue;
		if (i < TL_CTL_IMAGES)
			l->seen[i] = 1;
		l->here[i].bias = o->bias;
		l->here[i].lo = o->lo;
		l->here[i].hi = o->end;
	}
	return 0;
}

static bool is_here(const struct look *l, uint32_t image)
{
	return l->here[image].hi != 0;
}

static bool is_other(const struct look *l, uint32_t image)
{
	return image < TL_CTL_IMAGES && l->other[image];
}

/* An object that was closed has taken it along. */
static bool is_gone(
	const struct look *l, const struct tl_tap_probe *from, const struct tl_ctl_probe *p)
{
	return p->addr &&
	       (!is_here(l, from->image) || p->addr != from->addr + l->here[from->image].bias);
}

/* --- probes ------------------------------------------------------------------------------- */

static void place(const struct tl_preload *p, const struct tl_tap_probe *from, uint32_t number,
	uint64_t bias, struct tl_ctl_probe *to)
{
	const struct tl_home_module *am =
		(const struct tl_home_module *)(uintptr_t)tl_session_ctl->module;
	const struct tl_ctl_module m = {am->code, am->strings, p->traps_only};
	struct tl_func_part *parts =
		tl_ctl_parts(tl_session_ctl, (uint32_t)tl_session_ctl->nprobes);

	tl_ctl_fill(to, number, from, &m);
	tl_ctl_place(to, parts, from->first_part, from, tl_module_table(p, &p->module.parts), bias);
	to->semaphore = tl_ctl_semaphore(from, bias);
}

void tl_preload_place(struct tl_preload *p)
{
	const struct tl_tap_probe *from = tl_module_table(p, &p->module.probes);
	struct tl_ctl_probe *to = tl_ctl_probe(tl_session_ctl, 0);
	static struct look l;
	uint32_t i, pending = 0;

	tl_fill(&l, 0, sizeof(l));
	l.p = p;
	l.want = tl_module_table(p, &p->module.images);
	l.here = (struct tl_symbol_image *)((char *)p + p->images_at);
	tl_objects(look_at, &l);
	if (l.copies || tl_objects_apart())
		p->passed_over = 1;
	for (i = 0; i < p->module.images.count && i < TL_CTL_IMAGES; i++)
		if (!l.seen[i])
			l.here[i].hi = 0;
	for (i = 0; i < p->module.probes.count; i++, from++, to++) {
		if (is_gone(&l, from, to))
			tl_ctl_unplace(to);
		if ((from->kind != TL_TAP_SITE && from->kind != TL_TAP_RETURN) || to->addr ||
			to->result || from->flags & TL_TAP_PROBE_NEVER)
			continue;
		if (from->process != TL_NONE && !is_here(&l, from->process))
			to->result = is_other(&l, from->process) ? -TL_E_BUILD_ID : 0;
		else if (is_here(&l, from->image) && p->traps_only)
			to->result = tl_os_trap_allowed(); /* no need to try each */
		else if (is_here(&l, from->image))
			place(p, from, i, l.here[from->image].bias, to);
		else if (is_other(&l, from->image))
			to->result = -TL_E_BUILD_ID;
		else
			pending++;
	}
	p->pending = pending;
}
