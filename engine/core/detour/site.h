/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/* Sites: one probed address each. */
#ifndef TRAPLESS_ENGINE_CORE_DETOUR_SITE_H
#define TRAPLESS_ENGINE_CORE_DETOUR_SITE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <trapless/probe.h>
#include "../base/index.h"

struct tl_patch;

/*
 * One probed address. The detour reads `current` once, after the thread's
 * guard is set, and calls current->pre(current, regs, thread). It is never
 * NULL, and its `pre` is never NULL; where the point has `post`, the detour
 * reads `current` anew behind the instruction and its `post` is never NULL.
 */
struct tl_site {
	struct tl_probe *current; /* a probe, &aggregate, or tl_probe_nothing */
	uintptr_t addr;
	struct tl_node node; /* among all of them */
	struct tl_probe *probes; /* oldest first; readers walk it inside a guard */
	struct tl_probe aggregate; /* its handlers walk the list */
	struct tl_patch *patch; /* that serves it now, NULL: not armed */
	uint32_t flags; /* wanted: union of the enabled probes' TL_PROBE_ flags */
	bool post; /* wanted: some enabled probe has a post handler */
	bool had_post; /* detours that call one may be in use, live or retired */
	bool private_stack; /* detours that need one may be in use, live or retired */
	uint32_t lacks; /* of TL_PROBE_ASKS: what some of them, live or retired, do not give */
	bool want; /* to be armed */
	bool queued; /* in the running batch */
	bool shy; /* in the running batch: somebody stands in its window */
	bool replaced; /* the program wrote over its patch */
	struct tl_patch *planned; /* in the running batch: the patch that will serve it */
	struct tl_site *waits_next; /* the optimizer's queue */
	bool waits; /* in it */
	uint8_t tries; /* of the optimizer, in vain */
	uint32_t refs; /* detours, live and retired, that hold its address */
	int why; /* it was refused, -TL_E_: of use only to who has just cleared it */
	uint32_t image; /* tl_image_generation() when it was registered */
	uintptr_t func_start; /* as given by a probe, else 0 */
	uint32_t func_size;
	uint64_t missed[TL_MISSED_KINDS]; /* added to the probes under the lock */
};

extern struct tl_probe tl_probe_nothing; /* both handlers do nothing */

struct tl_site *tl_site_get(uintptr_t addr); /* found or made */
struct tl_site *tl_site_find(uintptr_t addr);
struct tl_site *tl_site_next(uintptr_t addr); /* the first at or behind addr */
void tl_site_put(struct tl_site *s); /* freed when neither probes nor detours remain */
void tl_site_wants(struct tl_site *s); /* recompute flags, post, want out of the probes */
bool tl_site_only_trap(const struct tl_site *s); /* its flags or the knob forbid jumps */
void tl_site_link(struct tl_site *s, struct tl_probe *p);
void tl_site_unlink(struct tl_site *s, struct tl_probe *p); /* p->next stays for readers */
void tl_site_publish(struct tl_site *s); /* one store of `current` */
void tl_site_count_inside(struct tl_site *s); /* another handler */
void tl_site_count_missed(struct tl_site *s, enum tl_missed why);
void tl_site_fold_missed(struct tl_site *s);
void tl_sites_deinit(void);

#endif
