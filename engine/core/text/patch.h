/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/* Patches: places in the text that are changed, or will be by a batch. */
#ifndef TRAPLESS_ENGINE_CORE_TEXT_PATCH_H
#define TRAPLESS_ENGINE_CORE_TEXT_PATCH_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include "../../arch/arch.h"
#include "../base/index.h"
#include "../base/slab.h"

struct tl_change;
struct tl_detour;
struct tl_site;

/* One changed place in the text. plan->points[] are the sites it serves. */
struct tl_patch {
	struct tl_node node; /* in tl_patches.planned, key plan->start */
	struct tl_plan *plan; /* the detour's */
	struct tl_detour *detour;
	/* The neighbour that had to go first: a patch without points, NULL: none */
	struct tl_patch *moved;
	struct tl_patch *mover; /* this is such a neighbour, of that patch */
	struct tl_patch *next; /* lists of a batch */
	struct tl_change *change; /* of the running batch, NULL: its bytes stay as they are */
	uint8_t bytes[TL_PATCH_MAX]; /* what stands in the text: plan->changed of them */
	size_t journal; /* its entry there */
	struct tl_node text; /* in tl_patches.written, while its bytes stand in the text */
	uint32_t image; /* tl_image_generation() when it was made */
	bool pulled; /* taken out by the running batch */
	bool revived; /* its detour was a retired one */
	bool entered; /* breakpoints led into its detour before it was written */
};

extern struct tl_patches {
	struct tl_index planned; /* what a running batch will leave */
	struct tl_index written; /* whose bytes stand in the text */
	struct tl_slab slab;
} tl_patches;
void tl_patches_deinit(void);

/* Sites whose wanted state changed, and what becomes of their patches. */
enum { TL_BATCH_FEW = 4 };
struct tl_batch {
	struct tl_site **sites;
	struct tl_site *few[TL_BATCH_FEW]; /* where there is no memory for more */
	size_t nsites, max;
	struct tl_patch *old, *fresh;
	struct tl_site *bad; /* the site that was refused */
	bool again; /* plan anew what would still serve */
	bool better; /* for the optimizer: it leaves nobody that had been in the way */
	bool check; /* sites that nobody wants yet too, so that enabling them later is no surprise */
	bool careful; /* no windows over places that threads may come back to */
	bool no_windows; /* nor any other new one: somebody cannot be stopped */
	bool blocked; /* somebody stood inside a window; its sites are shy now */
	bool gone; /* the text of some patch is not there any more */
	bool left; /* some patch that nobody wants has to stay, for now */
};
/* Nobody is inside any detour, live or retired, that serves one of them. One look at all threads. */
bool tl_sites_quiet(struct tl_site *const *sites, size_t n);
/* How its patch serves it. */
const struct tl_point *tl_site_point(const struct tl_site *s);
/* From the batch's old patches to its fresh ones, in the text. 0, or -TL_E_ with the text unchanged. */
int tl_patches_write(struct tl_batch *b);
size_t tl_patch_count(const struct tl_patch *list);
/* Patches do not overlap: the one with the highest start below `end`. */
struct tl_patch *tl_patch_below(uintptr_t end);
/* The patch for whose sake this neighbour was moved, or the patch itself. */
static inline struct tl_patch *tl_patch_first(struct tl_patch *p)
{
	while (p->mover)
		p = p->mover;
	return p;
}
struct tl_patch *tl_patch_at(
	uintptr_t addr); /* the patch that covers or shares the byte at addr, or NULL */
/* The first whose bytes stand in the text at or behind `from`, pulled or not; or NULL. */
struct tl_patch *tl_patch_written(uintptr_t from);
/* Behind the start, in front of the end. */
static inline bool tl_plan_inside(const struct tl_plan *plan, uintptr_t at)
{
	return at > plan->start && at < plan->start + plan->len;
}
/* Its bytes stand in the text now, or do not any more. */
void tl_patch_enter(struct tl_patch *p);
void tl_patch_leave(struct tl_patch *p);
void tl_patch_original(
	uintptr_t addr, uint8_t *buf, size_t len); /* overlay original bytes on a copy of text */

#endif
