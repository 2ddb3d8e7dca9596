/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/*
 * Text that was unmapped takes its probes along: nothing is written back,
 * least of all into what has been mapped there since. Whether a patch still
 * stands is told by the image it was made for, and by its own bytes: a
 * program may write over its text, too.
 */
#include "../base/broken.h"
#include "../base/core.h"
#include "../base/mem.h"
#include "../detour/site.h"
#include "../image/func.h"
#include "../image/images.h"
#include "../text/patch.h"
#include "gone.h"
#include "probe.h"

struct tl_probe *tl_gone;
static struct tl_probe **end; /* of it */

/*
 * A debugger may have its breakpoint on our first byte. Of text that the program has made unreadable, and that nobody can
 * look at, the worst is assumed: what it may lead to must stay.
 */
static bool has_our_bytes(const struct tl_patch *p)
{
	uint8_t now[TL_PATCH_MAX], trap[8];
	size_t n = p->plan->changed, skip = tl_arch_trap_insn(trap);
	int got = (int)tl_os_text_read(p->plan->start, now, n);

	if (got != (int)n)
		got = tl_os_text_peek(p->plan->start, now, n);
	if (got != (int)n)
		return got < 0;
	if (n <= skip || !tl_equal(now, trap, skip))
		skip = 0;
	return tl_equal(now + skip, p->bytes + skip, n - skip) || tl_patch_borrowed(p);
}

bool tl_patch_borrowed(const struct tl_patch *p)
{
	return tl_os_text_borrowed(p->plan->start, p->plan->start + p->plan->held);
}

bool tl_patch_stands(const struct tl_patch *p)
{
	return tl_image_generation(p->plan->start) == p->image && has_our_bytes(p);
}

static void drop_patch(struct tl_patch *p)
{
	tl_index_remove(&tl_patches.planned, &p->node);
	if (p->plan->rung == TL_RUNG_TRAP)
		tl_os_trap_remove(p->plan->start);
	if (p->moved)
		p->moved->mover = NULL;
	if (p->mover)
		p->mover->moved = NULL;
	tl_patch_leave(p);
}

/* A walk of its site's list that stands on it finds none behind it that would run. */
static void add_gone(struct tl_probe *p)
{
	struct tl_probe **link = tl_gone ? end : &tl_gone;

	TL_STORE(&p->next, NULL);
	*link = p;
	end = &p->next;
}

void tl_gone_forget(struct tl_probe **probes, size_t n)
{
	struct tl_probe **link = &tl_gone, *p;

	if (!tl_gone)
		return;
	for (size_t i = 0; i < n; i++)
		probes[i]->reserved &= ~(uint32_t)TL_PROBE_UNMAPPED;
	while ((p = *link)) {
		if (!(p->reserved & TL_PROBE_UNMAPPED)) {
			*link = p->next;
			continue;
		}
		link = &p->next;
		end = link;
	}
}

void tl_gone_deinit(void)
{
	tl_gone = NULL;
}

/* Probes under way into or out of the engine are their caller's affair. */
static void drop_probes(struct tl_site *s)
{
	struct tl_probe *p, *next;

	tl_site_fold_missed(s);
	for (p = s->probes; p; p = next) {
		next = p->next;
		if (p->state != TL_PROBE_ARMED && p->state != TL_PROBE_OFF)
			continue;
		tl_probe_move(p, (enum tl_probe_state)p->state, TL_PROBE_GONE);
		p->reserved = TL_PROBE_UNMAPPED | (s->replaced ? TL_PROBE_REPLACED : 0);
		tl_site_unlink(s, p);
		p->site = NULL;
		tl_core.nprobes--;
		add_gone(p);
	}
	s->func_start = 0;
	s->func_size = 0;
	tl_site_wants(s);
	tl_site_publish(s);
}

/* It is of the image as it is now, or its text was replaced. */
static void look_again(struct tl_patch *p, uint32_t generation)
{
	bool stands = has_our_bytes(p);
	uint8_t byte;

	if (stands)
		p->image = generation;
	for (unsigned i = 0; i < p->plan->npoints; i++) {
		struct tl_site *s = p->plan->points[i].site;

		s->replaced = !stands && tl_os_text_read(s->addr, &byte, 1) == 1;
		if (stands)
			s->image = generation;
	}
}

/* Somebody wrote over text of this image, or mapped it anew: what is known of it is not true any more. */
static void renew_image(uintptr_t addr)
{
	uint32_t was = tl_image_generation(addr);

	tl_image_renew(addr);
	for (struct tl_patch *p = tl_patch_written(0); p; p = tl_patch_written(p->plan->start + 1))
		if (p->image == was)
			look_again(p, tl_image_generation(addr));
}

static void drop_gone_patches(void)
{
	struct tl_patch *p;
	uintptr_t at;

	for (p = tl_patch_written(0); p; p = tl_patch_written(at + 1)) {
		at = p->plan->start;
		if (tl_patch_stands(p))
			continue;
		if (p->image == tl_image_generation(at))
			renew_image(at);
		drop_patch(p);
	}
}

void tl_drop_gone(void)
{
	struct tl_site *s;
	uintptr_t addr;

	TL_ASSERT_HELD();
	tl_func_forget(&tl_func_now);
	drop_gone_patches();
	for (s = tl_site_next(0); s; s = tl_site_next(addr + 1)) {
		addr = s->addr;
		if (s->patch || !s->probes ||
			(s->image && s->image == tl_image_generation(s->addr)))
			continue;
		drop_probes(s);
		tl_site_put(s);
	}
}

void tl_text_look(void)
{
	tl_os_lock();
	if (tl_core.ready && !tl_images_refresh())
		tl_drop_gone();
	tl_os_unlock();
}

int tl_images_refresh(void)
{
	int ret = 0;

	TL_ASSERT_HELD();
	tl_core.images_asked = false;
	if (tl_os_images_stale())
		ret = tl_os_images_update();
	else if (!tl_images_changed())
		return 0;
	if (ret < 0)
		return ret;
	tl_images_changed();
	tl_drop_gone();
	return 0;
}
